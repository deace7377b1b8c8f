/**
 * The workers of a group of knowledge objects, and the life of their work: whatever happens comes here as an event, takes the
 * steps of `work.ts`, and ends with giving out what may begin now. How the calls of a process run is data: one after the
 * other (isolates, with many knowledge objects in a process) or beside each other (one knowledge object in a process).
 *
 * One after the other: when a shared worker falls silent, the batch at its head is at fault. The worker is left to that work,
 * and the standby takes its place with what had not begun; so a call that passes its limit costs only itself. Endpoints that
 * did this are on probation from then on, one call a worker, until their calls are quick again.
 *
 * | Event                      | One after the other                                    | Beside each other                               |
 * | -------------------------- | ------------------------------------------------------ | ----------------------------------------------- |
 * | answered, loaded           | answered                                               | answered                                        |
 * | failed by itself           | one call: failed; several: requeued, each alone        | failed                                          |
 * | asks for what is outside   | one call: asking, then sent; several: requeued         | asking, then sent                               |
 * | silent                     | what is behind the work at fault: requeued             | drained: what has not begun is requeued         |
 * | past its limit, its memory | failed with its process; or no turn, if it never began | failed; the worker is drained, and ends         |
 * | process ended              | as `afterCrash` decides; what is behind: requeued      | what has begun: failed; the others: requeued    |
 * | no turn in time            | failed, from its queue; records: once none are answered | failed, from its queue                         |
 */
import { availableParallelism } from 'node:os';
import { whyNotStarted } from '../../confinement/launch.ts';
import type { EngineFigures, ProcessKind } from '../engine.ts';
import { CallsBeside } from './calls-beside.ts';
import type { CallsBesideOptions } from './calls-beside.ts';
import { CallsInTurn } from './calls-in-turn.ts';
import type { CallsInTurnOptions } from './calls-in-turn.ts';
import { realClock, type Clock } from './clock.ts';
import type { Endpoint } from './endpoint.ts';
import type { Line, ProgramFailure, RecordsLine } from './from-program.ts';
import { policyFor, type Policy } from './policy.ts';
import type { StartSandbox } from './process.ts';
import { Starts } from './starts.ts';
import { UnansweredLimit, WaitingWork } from './waiting-work.ts';
import { PendingCall, Work, type CallParts, type Code } from './work.ts';
import type { Worker } from './worker.ts';
import type { Open, WorkerContext } from './worker-context.ts';
import { Workers } from './workers.ts';

/** Between two looks at the clock. */
const TICK_MS = 25;
/** A look that comes so late says that this process was held up: answers may lie in its sockets unread. */
const LATE_TICK_MS = 75;
/** With nothing to do, the looks go on so long, until processes that have grown were replaced. */
export const IDLE_UNTIL_ASLEEP_MS = 4000;

export interface PoolOptions {
  /** Shared workers. */
  readonly sandboxes: number;
  /** MB that the code of one endpoint may use. */
  readonly memoryMb: number;
  readonly queueLimit: number;
  readonly start: StartSandbox;
  readonly conduct: { readonly inTurn: CallsInTurnOptions } | { readonly beside: CallsBesideOptions };
  readonly clock?: Clock;
  readonly policy?: Policy;
  /** Where several pools share what they know of starts. */
  readonly starts?: Starts;
  /** Hears that there is work, where somebody else calls `look` several times a second while there is. */
  readonly wake?: () => void;
}

/** What is particular to how the calls of a process run. */
export interface Conduct {
  onFailed(worker: Worker, work: Work, failure: ProgramFailure): void;
  /** @throws ProtocolError. */
  onAsk(worker: Worker, open: Open | undefined, number: number, question: string): void;
  /** A process that was ready has ended. */
  onExit(worker: Worker, works: readonly Work[], unbegun: readonly Work[], reason: string): void;
  /** A process ended before it was ready; its work waits again. */
  onFailedStart(reason: string, worker: Worker): void;
  /** Why loads have ended that no process could take. */
  whyNoLoad(reason: string): string;
  /** Several times a second: ends what passed a limit. `isLate`: this process was held up. */
  look(now: number, isLate: boolean): void;
}

/** What a conduct works on. */
export interface PoolParts {
  readonly context: WorkerContext;
  readonly workers: Workers;
  readonly waiting: WaitingWork;
  readonly unansweredLimit: UnansweredLimit;
  /** What a worker and an endpoint do after an answer. */
  goOn(worker: Worker, endpoint: Endpoint): void;
  /** The endpoint may have nothing to do any more. */
  release(endpoint: Endpoint): void;
}

export class Pool implements Disposable {
  readonly policy: Policy;
  readonly #options: PoolOptions;
  readonly #clock: Clock;
  readonly #starts: Starts;
  readonly #unansweredLimit: UnansweredLimit;
  readonly #workers: Workers;
  readonly #waiting: WaitingWork;
  readonly #beside: CallsBeside | undefined;
  readonly #conduct: Conduct;
  /** Endpoints that have anything to do. */
  readonly #active = new Set<Endpoint>();
  #stopTicking: (() => void) | undefined;
  #lastTick = 0;
  #idleSince: number | undefined;
  #closed = false;

  constructor(options: PoolOptions) {
    const { conduct } = options;
    this.policy = options.policy ?? policyFor(availableParallelism());
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.#starts = options.starts ?? new Starts(this.#clock);
    this.#unansweredLimit = new UnansweredLimit(this.#clock, this.#starts);
    const context: WorkerContext = {
      events: {
        onReady: () => {
          this.#starts.onReady();
          this.#waiting.giveOut();
        },
        onLoaded: (worker, work, problem) => {
          work.endLoad(problem);
          this.#goOn(worker, work.endpoint);
        },
        onDone: (worker, work, lines, microseconds) => this.#onDone(worker, work, lines, microseconds),
        onRecordsDone: (worker, work, lines, microseconds) => this.#onRecordsDone(worker, work, lines, microseconds),
        onRecords: (_worker, work, lines) => this.#onRecords(work, lines),
        onFailed: (worker, work, failure) => this.#conduct.onFailed(worker, work, failure),
        onAsk: (worker, open, number, question) => this.#conduct.onAsk(worker, open, number, question),
        onSpent: (worker) => void this.#beside?.retire(worker),
        onFreed: (worker) => this.#onFreed(worker),
        onDrained: (worker, unbegun) => {
          this.#waiting.takeBack(unbegun);
          this.#onFreed(worker);
        },
        onExit: (worker, works, unbegun, reason) => this.#onExit(worker, works, unbegun, reason),
      },
      start: options.start,
      clock: this.#clock,
      policy: this.policy,
      starts: this.#starts,
      beside: 'beside' in conduct ? conduct.beside : undefined,
    };
    this.#workers = new Workers(context, options.sandboxes, options.memoryMb);
    this.#waiting = new WaitingWork(this.#workers, context);
    const parts: PoolParts = {
      ...{ context, workers: this.#workers, waiting: this.#waiting, unansweredLimit: this.#unansweredLimit },
      goOn: (worker, endpoint) => this.#goOn(worker, endpoint),
      release: (endpoint) => this.#releaseIfIdle(endpoint),
    };
    this.#beside = 'beside' in conduct ? new CallsBeside(parts, conduct.beside) : undefined;
    this.#conduct = 'beside' in conduct ? (this.#beside as CallsBeside) : new CallsInTurn(parts, conduct.inTurn);
  }

  get workers(): readonly Worker[] {
    return this.#workers.all();
  }

  get onProbation(): number {
    return this.#workers.probation.workers.size;
  }

  /** Any call or load waits, or runs. */
  get hasWork(): boolean {
    return this.#active.size > 0 || this.workers.some(({ open }) => open.length > 0);
  }

  /** For whoever measures it. */
  figures(
    kind: ProcessKind,
  ): Pick<EngineFigures, 'waiting' | 'longestQueue' | 'processes'> & { readonly isolates: number } {
    const waiting = [...this.#active].map(({ counts }) => counts.waiting);
    return {
      waiting: waiting.reduce((sum, each) => sum + each, 0),
      longestQueue: waiting.reduce((most, each) => Math.max(most, each), 0),
      processes: this.workers.map(({ process }) => ({ kind, memory: () => process.memory() })),
      isolates: this.workers.reduce((sum, { isolates }) => sum + isolates, 0),
    };
  }

  /** Why there is no worker, while that is so. */
  get problem(): string | undefined {
    return this.#starts.problem;
  }

  /** Starts what the first call of any endpoint needs, so that it does not wait for that. */
  prepare(): void {
    if (!this.#closed) this.#workers.shared.prepare();
  }

  /** Loads an endpoint's code. Gives the problem, or empty text. `until`: where it may not wait for longer. */
  load(endpoint: Endpoint, code: Code = endpoint, until = Infinity): Promise<string> {
    return new Promise((resolve) => {
      const load = Work.ofLoad(endpoint, resolve, code);
      load.awaitTurn(until);
      this.#waiting.addLoad(load);
      this.#watch(endpoint);
      this.#waiting.giveOut();
    });
  }

  /** Lets the calls that are there run together with those that come in the same turn of the event loop. */
  submit(endpoint: Endpoint, parts: CallParts): void {
    const { words } = endpoint.parts;
    if (this.#closed) return parts.reject(words.ending());
    const { queueLimit } = this.#options;
    const { waiting } = endpoint.counts;
    if (waiting >= queueLimit && !(this.#beside !== undefined && this.#workers.shared.hasPlace))
      return parts.reject(words.queueFull(endpoint, this.#beside === undefined ? queueLimit : waiting));
    const call = new PendingCall(endpoint, parts);
    this.#watch(endpoint);
    this.#waiting.add(endpoint, call);
  }

  /** However many wait already: who sends records bounds that. */
  submitRecords(endpoint: Endpoint, parts: CallParts): void {
    const call = new PendingCall(endpoint, parts);
    if (this.#closed) return call.giveUp(endpoint.parts.words.ending());
    this.#waiting.add(endpoint, call);
    this.#watch(endpoint);
  }

  /** An endpoint that was replaced leaves the workers when its last call has been answered. */
  forget(endpoint: Endpoint): void {
    endpoint.disposed = true;
    this.#releaseIfIdle(endpoint);
  }

  /** Lets a worker end what it has begun, and gives it nothing more. */
  retire(worker: Worker): Promise<void> {
    return this.#beside?.retire(worker) ?? Promise.resolve();
  }

  /** `loss`: for the counts. `reason`: what the calls in it are told. */
  endFor(worker: Worker, loss: Parameters<CallsBeside['endFor']>[1], reason: string): void {
    this.#beside?.endFor(worker, loss, reason);
  }

  /** Gives up what waits; what runs hears the end of its process. */
  kill(reason: string): void {
    this.#close(reason);
    for (const worker of this.workers) worker.kill(reason);
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#close('the service is stopping');
    const open = this.workers.flatMap((worker) => {
      worker.end();
      return worker.open.splice(0).map(({ work }) => work);
    });
    for (const work of open) {
      if (work.kind === 'load') work.endLoad('the service is stopping');
      else work.fail(({ endpoint }) => endpoint.parts.words.ending());
    }
  }

  #close(reason: string): void {
    this.#closed = true;
    this.#waiting.close();
    this.#stopTicking?.();
    for (const load of this.#waiting.takeLoads()) load.endLoad(reason);
    const waiting = [...this.#active].flatMap(({ queue }) => queue.splice(0));
    for (const call of [...waiting, ...this.#workers.large.clear()]) call.giveUp(call.endpoint.parts.words.ending());
  }

  #goOn(worker: Worker, endpoint: Endpoint): void {
    this.#unansweredLimit.onAnswer();
    const exclusive = this.#workers.exclusiveWith(worker);
    exclusive?.free(worker);
    this.#waiting.giveOutAfter(endpoint, exclusive === undefined);
    this.#releaseIfIdle(endpoint);
  }

  #onFreed(worker: Worker): void {
    this.#workers.exclusiveWith(worker)?.free(worker);
    this.#waiting.giveOut();
  }

  #releaseIfIdle(endpoint: Endpoint): void {
    if (!endpoint.counts.isNothing) return;
    this.#active.delete(endpoint);
    if (endpoint.disposed) for (const worker of this.workers) worker.forget(endpoint);
  }

  // ----- what workers say -----

  #onDone(worker: Worker, work: Work, lines: readonly Line[], microseconds: number): void {
    const { endpoint, calls } = work;
    work.answer();
    if (work.kind !== 'large' && this.#beside === undefined) endpoint.answered(calls.length, microseconds);
    // The next batch is on its way before the answers are handed on.
    this.#goOn(worker, endpoint);
    for (let i = 0; i < calls.length; i++) {
      const [call, line] = [calls[i], lines[i]];
      if (call === undefined || line === undefined) continue;
      work.settle(call, typeof line === 'string' ? line : endpoint.parts.words.errorOf(line, work));
    }
  }

  #onRecordsDone(worker: Worker, work: Work, lines: readonly RecordsLine[], microseconds: number): void {
    const { endpoint, calls, size } = work;
    work.answer();
    endpoint.answered(size, microseconds);
    this.#goOn(worker, endpoint);
    const answer = lines.map((line) => ('lines' in line ? line : endpoint.parts.words.errorOf(line, work)));
    for (const call of calls) work.settle(call, answer);
  }

  #onRecords(work: Work, lines: readonly RecordsLine[]): void {
    const { words } = work.endpoint.parts;
    const parts = lines.map((line) => ('lines' in line ? line : words.errorOf(line, work)));
    for (const { sink } of work.calls) sink?.take(parts);
  }

  #onExit(worker: Worker, works: readonly Work[], unbegun: readonly Work[], reason: string): void {
    if (this.#beside === undefined && this.#closed) return;
    if (worker.ready || worker.reason !== undefined) this.#conduct.onExit(worker, works, unbegun, reason);
    else this.#onFailedStart(worker, unbegun, whyNotStarted(reason));
  }

  /** Calls that wait end by their limit where no worker comes up, and loads after some attempts. */
  #onFailedStart(worker: Worker, works: readonly Work[], reason: string): void {
    this.#conduct.onFailedStart(reason, worker);
    this.#workers.exclusiveWith(worker)?.remove(worker);
    this.#waiting.takeBack(works);
    const pause = this.#starts.onFailed(reason);
    if (this.#starts.areHopeless)
      for (const load of this.#waiting.takeLoads()) load.endLoad(this.#conduct.whyNoLoad(reason));
    this.#clock.after(pause, () => {
      if (this.#waiting.isClosed) return;
      this.#workers.shared.replace(worker);
      this.#waiting.giveOut();
    });
  }

  // ----- the clock -----

  #watch(endpoint: Endpoint): void {
    this.#active.add(endpoint);
    const { wake } = this.#options;
    if (wake !== undefined) return wake();
    this.#idleSince = undefined;
    if (this.#stopTicking !== undefined || this.#closed) return;
    this.#workers.shared.resume();
    this.#lastTick = this.#clock.now();
    this.#stopTicking = this.#clock.every(TICK_MS, () => {
      this.look();
      this.#stopWhenIdle(this.#clock.now());
    });
  }

  /** Ends what passed its limit. */
  look(): void {
    const now = this.#clock.now();
    const sinceTick = now - this.#lastTick;
    const isLate = sinceTick > LATE_TICK_MS;
    this.#lastTick = now;
    if (isLate) this.#unansweredLimit.forgive(sinceTick);
    this.#conduct.look(now, isLate);
    for (const endpoint of this.#active) {
      this.#waiting.expire(endpoint, now, this.#unansweredLimit.lost(endpoint), this.problem);
      this.#releaseIfIdle(endpoint);
    }
    this.#workers.large.expire(now, (endpoint) => this.#unansweredLimit.lost(endpoint));
    this.#workers.endUseless(now);
  }

  #stopWhenIdle(now: number): void {
    const isIdle = this.#active.size === 0 && this.#workers.isIdle;
    this.#idleSince = isIdle ? (this.#idleSince ?? now) : undefined;
    if (this.#idleSince === undefined || now - this.#idleSince <= IDLE_UNTIL_ASLEEP_MS) return;
    this.#stopTicking?.();
    this.#stopTicking = undefined;
    this.#workers.shared.idle();
  }
}
