/** Where calls run one after the other, one that ends, falls silent, grows or passes a limit is ended with its process. */
import { KILLED_FOR_MEMORY } from './process.ts';
import { endedLoading, errorOf, isFromOutside, noTurn, sandboxEnded } from './answers.ts';
import { nestedQuestionOf } from './from-program.ts';
import type { AskedQuestion, ProgramFailure } from './from-program.ts';
import { afterCrash, isStarved, MOST_ATTEMPTS } from './policy.ts';
import type { Conduct, PoolParts } from './pool.ts';
import type { Tally } from '../../lib/tally.ts';
import type { Work } from './work.ts';
import type { Worker } from './worker.ts';
import type { Open } from './worker-context.ts';

/** Why a process leaves: it ended, could not be started, was silent, has grown, or its call passed a limit. */
export const REMOVALS = ['ended', 'start-failed', 'silent', 'grown', 'timeout', 'memory'] as const;
export type Removal = (typeof REMOVALS)[number];

/** Answers what code asks of the activator, in the form of its program. Called outside of the sandbox when `outside`. */
export type AnswerQuestion = (
  worker: Worker,
  work: Work,
  question: AskedQuestion,
) => { text: string } | { outside: () => Promise<string> };

export interface CallsInTurnOptions {
  readonly answer: AnswerQuestion;
  readonly warn: (facts: Record<string, unknown>, message: string) => void;
  /** Counts why processes left. */
  readonly removals?: Tally<Removal>;
}

const MEMORY_CHECK_MS = 100;

export class CallsInTurn implements Conduct {
  readonly #parts: PoolParts;
  readonly #options: CallsInTurnOptions;
  #lastMemoryCheck = 0;

  constructor(parts: PoolParts, options: CallsInTurnOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  onFailed(worker: Worker, work: Work, failure: ProgramFailure): void {
    const { endpoint, size, kind } = work;
    const isAtLimit = failure.kind === 'memory' || (failure.kind === 'timeout' && !work.isShortened);
    if (failure.kind !== 'thrown' || size > 1) work.blame(isAtLimit);
    else if (kind !== 'large') endpoint.timedOut = false;
    if (size > 1) this.#parts.waiting.tryAlone(work);
    else work.fail(() => errorOf(failure, work));
    this.#parts.goOn(worker, endpoint);
  }

  onAsk(worker: Worker, open: Open | undefined, _number: number, text: string): void {
    const { waiting, workers, context } = this.#parts;
    const work = open?.work;
    const call = work?.calls[0];
    if (work === undefined || call === undefined) return;
    const question = nestedQuestionOf(text, call.depth, Math.max(0, work.deadline - context.clock.now()));
    worker.asks = true;
    const answer = this.#options.answer(worker, work, question);
    if ('text' in answer) return worker.reply(answer.text);
    const { endpoint, kind } = work;
    if (kind !== 'large') endpoint.callsOut = true;
    if (workers.exclusiveWith(worker) === undefined) this.#evict(worker);
    // Nothing has left the sandbox yet, so each of several can begin again, in a process of its own.
    if (work.state === 'requeued') return waiting.giveOut();
    work.blame(endpoint.timedOut);
    work.ask();
    waiting.giveOut();
    void answer.outside().then((reply) => {
      if (work.state !== 'asking') return;
      work.hear();
      worker.reply(reply);
    });
  }

  onExit(worker: Worker, works: readonly Work[], unbegun: readonly Work[], reason: string): void {
    const { workers, waiting } = this.#parts;
    this.#options.removals?.add(reason.includes(KILLED_FOR_MEMORY) ? 'memory' : 'ended');
    const exclusive = workers.exclusiveWith(worker);
    const wasAlone = exclusive?.isAlone(worker) === true;
    exclusive?.remove(worker);
    workers.shared.replace(worker);
    const [atFault] = works;
    if (atFault === undefined) this.#options.warn({ reason }, 'a sandbox ended');
    else this.#onCrash(atFault, reason, wasAlone);
    waiting.takeBack(unbegun);
    waiting.giveOut();
    if (atFault !== undefined) this.#parts.release(atFault.endpoint);
  }

  onFailedStart(reason: string): void {
    this.#options.removals?.add('start-failed');
    this.#options.warn({ reason }, 'a sandbox process cannot be started');
  }

  whyNoLoad(reason: string): string {
    return `a sandbox process cannot be started: ${reason}`;
  }

  look(now: number, isLate: boolean): void {
    const { workers, waiting } = this.#parts;
    if (!isLate) {
      for (const worker of workers.shared.stuck(now)) this.#evict(worker);
      for (const worker of workers.overdue(now)) this.#end(worker, 'timeout');
      waiting.giveOut();
    }
    if (now - this.#lastMemoryCheck < MEMORY_CHECK_MS) return;
    this.#lastMemoryCheck = now;
    for (const worker of workers.tooLarge()) this.#end(worker, 'memory');
    for (const worker of workers.shared.tooLarge(now)) this.#recycle(worker);
    waiting.giveOut();
  }

  #onCrash(work: Work, reason: string, wasAlone: boolean): void {
    const { endpoint, calls, calledOut } = work;
    this.#options.warn({ endpoint: endpoint.id, reason }, 'a sandbox ended during a call');
    // Records come in thousands: one by one, as on probation, they would hardly come on between two such ends.
    if (!isFromOutside(reason) || calls[0]?.records === undefined) work.blame(endpoint.timedOut);
    const attempts = calls[0]?.attempts ?? 0;
    const crash = { isLoad: work.kind === 'load', attempts, calledOut, wasAlone, isFromOutside: isFromOutside(reason) };
    const next = afterCrash(crash);
    if (next === 'load again') this.#loadAgain(work, endedLoading(reason));
    else if (next === 'requeue') this.#parts.waiting.tryAlone(work);
    else work.fail(() => sandboxEnded(endpoint, reason));
    this.#parts.waiting.offer(endpoint);
  }

  #loadAgain(work: Work, problem: string): void {
    if (work.attempts + 1 >= MOST_ATTEMPTS) return work.endLoad(problem);
    work.waitAgain(true);
    this.#parts.waiting.addLoad(work);
  }

  /** An unresponsive worker leaves with the work that it is at. */
  #evict(worker: Worker): void {
    this.#options.removals?.add('silent');
    const atFault = worker.first;
    const rest = worker.takeUnbegun();
    this.#parts.workers.shared.replace(worker);
    if (atFault !== undefined) {
      atFault.endpoint.putOnProbation();
      if (atFault.size > 1) {
        worker.open.length = 0;
        worker.end();
        this.#parts.waiting.tryAlone(atFault);
      } else {
        // Nobody knows whether its code had begun. Without this a call that gets no core for its limit is told that it took too long.
        if (worker.isSuspected && isStarved(worker.suspect(), this.#parts.context.policy))
          atFault.begin(this.#parts.context.clock.now());
        this.#parts.workers.probation.attach(worker);
      }
    }
    this.#parts.waiting.takeBack(rest);
  }

  /** A worker that has grown large leaves with the batch that it is at. */
  #recycle(worker: Worker): void {
    this.#options.removals?.add('grown');
    const rest = worker.takeUnbegun();
    this.#parts.workers.shared.replace(worker);
    if (worker.open.length === 0) worker.end();
    else this.#parts.workers.probation.attach(worker);
    this.#parts.waiting.takeBack(rest);
  }

  /** Ends an exclusive worker, and answers its call. */
  #end(worker: Worker, why: 'timeout' | 'memory'): void {
    this.#parts.unansweredLimit.onAnswer();
    this.#options.removals?.add(why);
    const work = worker.open.splice(0)[0]?.work;
    this.#parts.workers.exclusiveWith(worker)?.remove(worker);
    worker.end();
    if (work === undefined) return;
    const { endpoint, kind } = work;
    if (work.hasBegun || why === 'memory') {
      work.blame(why === 'memory' || !work.isShortened);
      if (kind === 'load') work.endLoad(why);
      else work.fail(() => errorOf({ kind: why, description: '' }, work));
    } else if (kind === 'load') this.#loadAgain(work, 'no sandbox came to run it');
    else work.fail((call) => noTurn(endpoint, call));
    this.#parts.waiting.offer(endpoint);
    this.#parts.release(endpoint);
  }
}
