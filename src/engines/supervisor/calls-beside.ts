/**
 * Where calls run beside each other, one that passes its limit fails alone: its worker takes no more, what had begun there goes
 * on as long as it is alive, and what had not is given to another.
 */
import type { Tally } from '../../lib/tally.ts';
import { CallFailure, failed, isStopping, loadPassedLimit, passedLimit, workerEnded } from './call-failure.ts';
import type { ProgramFailure } from './from-program.ts';
import type { Conduct, PoolParts } from './pool.ts';
import { KILLED_FOR_MEMORY } from './process.ts';
import { answerTo } from './questions.ts';
import type { Work } from './work.ts';
import type { Beside, Open } from './worker-context.ts';
import { ifBlocked, residentBytes } from './worker-policy.ts';
import { withoutUncaught, type Worker } from './worker.ts';

export interface CallsBesideOptions extends Beside {
  /** Megabytes that the code may use, and what its process needs beside them. */
  readonly memoryMb: number;
  readonly besideMemoryMb: number;
  readonly losses: WorkerLosses;
  /** A worker has ended, or gone. */
  readonly onGone: () => void;
  /** For the log: a process ended unwanted. */
  readonly onLost: (reason: string) => void;
  /** What the code says, without the paths of this machine. */
  readonly clean: (text: string) => string;
}

const NO_MEMORY_LEFT = 'The kernel ended the process of the knowledge object, since no memory was left';

export class CallsBeside implements Conduct {
  readonly #parts: PoolParts;
  readonly #options: CallsBesideOptions;
  #memoryAt = 0;
  /** Workers in a row that ended and left only work that had not begun. */
  #endsInVain = 0;

  constructor(parts: PoolParts, options: CallsBesideOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  onFailed(worker: Worker, work: Work, failure: ProgramFailure): void {
    const error = work.endpoint.parts.words.errorOf(failure, work);
    work.fail(() => error);
    this.#parts.goOn(worker, work.endpoint);
  }

  onAsk(worker: Worker, open: Open | undefined, number: number, question: string): void {
    const { clock } = this.#parts.context;
    void answerTo(open, question, clock, this.#options.figures).then((reply) => worker.replyTo(open, number, reply));
    // It takes no place while it waits.
    this.#parts.waiting.giveOut();
  }

  onExit(worker: Worker, works: readonly Work[], unbegun: readonly Work[], reason: string): void {
    const { memoryMb, losses, onLost, onGone, clean } = this.#options;
    const [how = ''] = reason.split(':', 1);
    const isKilledForMemory = reason.includes(KILLED_FOR_MEMORY);
    const overMemory = passedMemory(memoryMb);
    const forMemory = worker.isOutOfMemory ? overMemory : isKilledForMemory ? NO_MEMORY_LEFT : undefined;
    const unexpected = `The process of the knowledge object ended unexpectedly (${how})`;
    const reached = worker.reason ?? forMemory ?? unexpected;
    const why = clean(reached);
    const kind = reached === forMemory || reached === overMemory ? 'memory' : 'ended';
    const failure = new CallFailure(kind, why, { isOfOthers: works.length > 1 });
    for (const work of works) fail(work, failure);
    // A stop ends them all, and nobody need look into that.
    if (!this.#parts.waiting.isClosed) {
      losses.add(worker, kind);
      onLost(withoutUncaught(why));
    }
    this.#forget(worker);
    this.#runAgain(worker, unbegun, why);
    this.#parts.waiting.giveOut();
    onGone();
  }

  onFailedStart(reason: string, worker: Worker): void {
    this.#options.losses.add(worker, 'start-failed');
    this.#options.onLost(`it could not be started: ${reason}`);
    this.#options.onGone();
  }

  whyNoLoad(reason: string): string {
    return this.#parts.context.starts.problem ?? reason;
  }

  look(now: number): void {
    const { workers, waiting } = this.#parts;
    for (const worker of workers.all()) this.#expireIn(worker, now);
    if (now - this.#memoryAt >= this.#options.figures.memoryCheckMs) {
      this.#memoryAt = now;
      const { memoryMb, besideMemoryMb } = this.#options;
      for (const worker of workers.all())
        if (worker.process.memory() > residentBytes(memoryMb, besideMemoryMb))
          this.endFor(worker, 'memory', passedMemory(memoryMb));
      for (const worker of workers.shared.all()) {
        this.#checkBlocked(worker, now);
        if (!worker.isUsable && worker.process.alive) void this.retire(worker);
      }
    }
    // A pause after starts that failed may be over.
    waiting.giveOut();
  }

  /** It takes no further work; what it has not begun is given to another. */
  async retire(worker: Worker): Promise<void> {
    const { workers, waiting } = this.#parts;
    if (!workers.detach(worker)) return;
    if (worker.open.length > 0) await worker.drain();
    this.#endIfDone(worker);
    waiting.giveOut();
  }

  /** Ends a worker that takes more than it may. */
  endFor(worker: Worker, loss: WorkerLoss, reason: string): void {
    this.#options.losses.add(worker, loss);
    void this.retire(worker).then(() => worker.kill(reason));
  }

  /** Fails what passed its limit. */
  #expireIn(worker: Worker, now: number): void {
    let hasPassed = false;
    for (const { work } of [...worker.open]) {
      const [call] = work.calls;
      if ((call ?? work).deadline > now || work.hasEnded) continue;
      hasPassed = true;
      fail(work, call === undefined ? failed(loadPassedLimit(work.endpoint.limit)) : passedLimit(call.limitMs));
      this.#parts.release(work.endpoint);
    }
    if (!hasPassed) return;
    this.#options.losses.add(worker, 'timeout');
    void this.retire(worker).then(() => this.#endIfBlocked(worker));
  }

  /** Leaves a worker that a call keeps busy to that call. */
  #checkBlocked(worker: Worker, now: number): void {
    const { figures, losses } = this.#options;
    const { lastHeard, pingedAt, open } = worker;
    const next = ifBlocked({ openCalls: open.length, lastHeard, pingedAt }, now, figures);
    if (next === 'ping') worker.ping();
    else if (next === 'leave behind' && this.#parts.workers.probation.workers.size < figures.mostLeftBehind) {
      losses.add(worker, 'blocked');
      void this.retire(worker);
    }
  }

  async #endIfBlocked(worker: Worker): Promise<void> {
    const { clock } = this.#parts.context;
    worker.ping();
    await new Promise<void>((resolve) => clock.after(this.#options.figures.aliveMs, resolve));
    if (worker.lastHeard >= worker.pingedAt) this.#endIfDone(worker);
    else worker.kill('The call was in one process with another that passed its time limit and kept it busy');
  }

  #endIfDone(worker: Worker): void {
    this.#parts.workers.exclusiveWith(worker)?.free(worker);
    this.#options.onGone();
  }

  /** What had not begun in a worker that has ended. */
  #runAgain(worker: Worker, works: readonly Work[], fault: string): void {
    if (works.length === 0) return;
    this.#endsInVain = worker.hasBegun ? 0 : this.#endsInVain + 1;
    // The code may have made up what had begun.
    const isHopeless = this.#endsInVain > this.#options.figures.mostEndsInVain;
    const isStopped = this.#parts.waiting.isClosed;
    if (isHopeless || isStopped) for (const work of works) fail(work, isStopped ? isStopping() : workerEnded(fault));
    else this.#parts.waiting.takeBack(works);
  }

  #forget(worker: Worker): void {
    this.#parts.workers.exclusiveWith(worker)?.remove(worker);
    this.#parts.workers.shared.replace(worker);
  }
}

const passedMemory = (memoryMb: number): string => `The knowledge object passed its memory limit of ${memoryMb} MB`;

function fail(work: Work, failure: CallFailure): void {
  if (work.hasEnded) return;
  if (work.kind === 'load') work.endLoad(failure.message);
  else work.fail(() => failure);
}

/** Why a worker is lost: it ended, could not be started, passed a limit, was kept busy by a call, or wrote too much. */
export const WORKER_LOSSES = ['ended', 'start-failed', 'timeout', 'blocked', 'memory', 'scratch', 'threads'] as const;
export type WorkerLoss = (typeof WORKER_LOSSES)[number];

/** Each worker is counted once, by what came first. */
export class WorkerLosses {
  readonly #counts: Tally<WorkerLoss>;
  readonly #counted = new WeakSet<Worker>();

  constructor(counts: Tally<WorkerLoss>) {
    this.#counts = counts;
  }

  add(worker: Worker, why: WorkerLoss): void {
    if (this.#counted.has(worker)) return;
    this.#counted.add(worker);
    this.#counts.add(why);
  }
}
