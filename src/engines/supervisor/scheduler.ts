/**
 * Shares the sandbox processes among the endpoints, and owns the life of all work: whatever happens comes here as an
 * event, takes the steps of `work.ts`, and ends with giving out what may begin now.
 *
 * Calls run in a fast lane: one process that answers batch after batch. When it falls silent, the batch at
 * its head is the one at fault. That process is set aside to finish, or to be ended at the limit, and a
 * spare takes its place with the work that had not begun; so a call that passes its limit costs only itself.
 * Endpoints that did this run in the quarantine from then on, one call a process, until their calls are quick again.
 *
 * | Event                      | Steps                                                                      |
 * | -------------------------- | -------------------------------------------------------------------------- |
 * | answered, loaded           | answered                                                                   |
 * | failed by itself           | one call: failed; several: requeued, each alone from now on                |
 * | asks for what is outside   | one call: asking, then sent; several: requeued, since nothing has left yet |
 * | silent, grown              | what is behind the work at fault: requeued                                   |
 * | past its limit, its memory | failed; or no turn, where it never began                                   |
 * | process ended              | as `afterCrash` decides; what is behind: requeued                          |
 * | no turn in time            | failed, from its queue; records: once none are answered                    |
 */
import { availableParallelism } from 'node:os';
import { ending, errorOf, expire, outcomeOf, queueFull } from './answers.ts';
import { realClock, type Clock } from './clock.ts';
import type { Endpoint } from './endpoint.ts';
import { figuresOf, type SchedulerFigures } from './figures.ts';
import type { Line, ProgramFailure, RecordsLine } from './from-program.ts';
import type { Lane } from './lane.ts';
import type { AnswerQuestion, LaneContext } from './lane-context.ts';
import { Lanes } from './lanes.ts';
import { UnansweredLimit } from './unanswered-limit.ts';
import { policyFor, type Policy } from './policy.ts';
import { ProcessRemoval, type Removal } from './process-removal.ts';
import type { AskedQuestion } from './from-program.ts';
import type { StartSandbox } from './process.ts';
import type { Tally } from '../../lib/tally.ts';
import { Starts } from './starts.ts';
import { WaitingWork } from './waiting-work.ts';
import { PendingCall, type CallParts } from './pending-call.ts';
import { Work } from './work.ts';

/** Between two looks at the clock. */
const TICK_MS = 25;
/** A look that comes so late says that this process was held up: answers may lie in its sockets unread. */
const LATE_TICK_MS = 75;
const MEMORY_CHECK_MS = 100;
/** With nothing to do, the looks go on so long, until processes that have grown were replaced. */
export const IDLE_UNTIL_ASLEEP_MS = 4000;

export interface SchedulerOptions {
  /** Processes of the fast lane. */
  readonly sandboxes: number;
  /** MB that the code of one endpoint may use. */
  readonly memoryMb: number;
  readonly queueLimit: number;
  readonly start: StartSandbox;
  readonly answer: AnswerQuestion;
  readonly warn: (facts: Record<string, unknown>, message: string) => void;
  /** Counts why processes left. */
  readonly removals?: Tally<Removal>;
  readonly clock?: Clock;
  readonly policy?: Policy;
}

export class Scheduler implements Disposable {
  readonly policy: Policy;
  readonly #options: SchedulerOptions;
  readonly #clock: Clock;
  readonly #starts: Starts;
  readonly #unansweredLimit: UnansweredLimit;
  readonly #lanes: Lanes;
  readonly #waiting: WaitingWork;
  readonly #removal: ProcessRemoval;
  /** Endpoints that have anything to do. */
  readonly #active = new Set<Endpoint>();
  #stopTicking: (() => void) | undefined;
  #lastTick = 0;
  #lastMemoryCheck = 0;
  #idleSince: number | undefined;
  #closed = false;

  constructor(options: SchedulerOptions) {
    this.policy = options.policy ?? policyFor(availableParallelism());
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.#starts = new Starts(this.#clock);
    this.#unansweredLimit = new UnansweredLimit(this.#clock, this.#starts);
    const context: LaneContext = {
      events: {
        onReady: () => {
          this.#starts.onReady();
          this.#waiting.giveOut();
        },
        onLoaded: (lane, work, problem) => {
          work.endLoad(problem);
          this.#goOn(lane, work.endpoint);
        },
        onDone: (lane, work, lines, microseconds) => this.#onDone(lane, work, lines, microseconds),
        onRecordsDone: (lane, work, lines, microseconds) => this.#onRecordsDone(lane, work, lines, microseconds),
        onFailed: (lane, work, failure) => this.#onFailed(lane, work, failure),
        onAsk: (lane, work, question) => this.#onAsk(lane, work, question),
        onExit: (lane, work, reason) => this.#onExit(lane, work, reason),
      },
      start: options.start,
      clock: this.#clock,
      policy: this.policy,
      starts: this.#starts,
    };
    this.#lanes = new Lanes(context, options.sandboxes, options.memoryMb);
    this.#waiting = new WaitingWork(this.#lanes, this.#clock, this.policy);
    this.#removal = new ProcessRemoval(context, this.#lanes, this.#waiting, options);
  }

  get processes(): number {
    return this.#lanes.all().length;
  }

  get quarantined(): number {
    return this.#lanes.quarantine.lanes.size;
  }

  figures(): SchedulerFigures {
    return figuresOf(this.#lanes.all(), this.#active);
  }

  /** Why there is no sandbox, while that is so. */
  get problem(): string | undefined {
    return this.#starts.problem;
  }

  /** Starts what the first call of any endpoint needs, so that it does not wait for that. */
  prepare(): void {
    if (!this.#closed) this.#lanes.fast.prepare();
  }

  /** Runs the top level of an endpoint's code once. Gives the problem, or empty text. */
  load(endpoint: Endpoint): Promise<string> {
    return new Promise((resolve) => {
      this.#waiting.addLoad(Work.ofLoad(endpoint, resolve));
      this.#watch(endpoint);
      this.#waiting.giveOut();
    });
  }

  /** Lets the calls that are there run together with those that come in the same turn of the event loop. */
  submit(endpoint: Endpoint, parts: CallParts): void {
    if (this.#closed) return parts.reject(ending());
    const { queueLimit } = this.#options;
    if (endpoint.counts.waiting >= queueLimit) return parts.reject(queueFull(endpoint, queueLimit));
    const call = new PendingCall(endpoint, parts);
    this.#watch(endpoint);
    this.#waiting.add(endpoint, call);
  }

  /** However many wait already: who sends records bounds that. */
  submitRecords(endpoint: Endpoint, parts: CallParts): void {
    const call = new PendingCall(endpoint, parts);
    if (this.#closed) return call.giveUp(ending());
    this.#waiting.add(endpoint, call);
    this.#watch(endpoint);
  }

  /** An endpoint that was replaced leaves the sandboxes when its last call has been answered. */
  forget(endpoint: Endpoint): void {
    endpoint.disposed = true;
    this.#releaseIfIdle(endpoint);
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#waiting.close();
    this.#stopTicking?.();
    const open = this.#lanes.all().flatMap((lane) => {
      lane.end();
      return lane.open.splice(0);
    });
    for (const work of [...open, ...this.#waiting.takeLoads()]) {
      if (work.kind === 'load') work.endLoad('the service is stopping');
      else work.fail(ending);
    }
    const waiting = [...this.#active].flatMap(({ queue }) => queue.splice(0));
    for (const call of [...waiting, ...this.#lanes.large.clear()]) call.giveUp(ending());
  }

  /** What a lane and an endpoint do after an answer. */
  #goOn(lane: Lane, endpoint: Endpoint): void {
    this.#unansweredLimit.onAnswer();
    const lanes = this.#lanes.dedicatedWith(lane);
    lanes?.free(lane);
    this.#waiting.giveOutAfter(endpoint, lanes === undefined);
    this.#releaseIfIdle(endpoint);
  }

  #releaseIfIdle(endpoint: Endpoint): void {
    if (!endpoint.counts.isNothing) return;
    this.#active.delete(endpoint);
    if (endpoint.disposed) for (const lane of this.#lanes.all()) lane.forget(endpoint);
  }

  // ----- what sandboxes say -----

  #onDone(lane: Lane, work: Work, lines: readonly Line[], microseconds: number): void {
    const { endpoint, calls } = work;
    work.answer();
    if (work.kind !== 'large') endpoint.answered(calls.length, microseconds);
    // The next batch is on its way before the answers are handed on.
    this.#goOn(lane, endpoint);
    for (let i = 0; i < calls.length; i++) {
      const [call, line] = [calls[i], lines[i]];
      if (call !== undefined && line !== undefined) work.settle(call, outcomeOf(line, work));
    }
  }

  #onRecordsDone(lane: Lane, work: Work, lines: readonly RecordsLine[], microseconds: number): void {
    const { endpoint, calls, size } = work;
    work.answer();
    endpoint.answered(size, microseconds);
    this.#goOn(lane, endpoint);
    const answer = lines.map((line) => ('lines' in line ? line : errorOf(line, work)));
    for (const call of calls) work.settle(call, answer);
  }

  #onFailed(lane: Lane, work: Work, failure: ProgramFailure): void {
    const { endpoint, size, kind } = work;
    const isAtLimit = failure.kind === 'memory' || (failure.kind === 'timeout' && !work.isShortened);
    if (failure.kind !== 'thrown' || size > 1) work.blame(isAtLimit);
    else if (kind !== 'large') endpoint.timedOut = false;
    if (size > 1) this.#waiting.tryAlone(work);
    else work.fail(() => errorOf(failure, work));
    this.#goOn(lane, endpoint);
  }

  #onAsk(lane: Lane, work: Work, question: AskedQuestion): void {
    const answer = this.#options.answer(lane, work, question);
    if ('text' in answer) return lane.reply(answer.text);
    const { endpoint, kind } = work;
    if (kind !== 'large') endpoint.callsOut = true;
    if (this.#lanes.dedicatedWith(lane) === undefined) this.#removal.setAside(lane);
    // Nothing has left the sandbox yet, so each of several can begin again, in a process of its own.
    if (work.state === 'requeued') return this.#waiting.giveOut();
    work.blame(endpoint.timedOut);
    work.ask();
    this.#waiting.giveOut();
    void answer.outside().then((text) => {
      if (work.state !== 'asking') return;
      work.hear();
      lane.reply(text);
    });
  }

  #onExit(lane: Lane, works: readonly Work[], reason: string): void {
    if (this.#closed) return;
    const endpoint = this.#removal.onExit(lane, works, reason);
    if (endpoint !== undefined) this.#releaseIfIdle(endpoint);
  }

  /** Ends a process that does one work at a time, and answers its call. */
  #end(lane: Lane, why: 'timeout' | 'memory'): void {
    this.#unansweredLimit.onAnswer();
    const endpoint = this.#removal.end(lane, why);
    if (endpoint !== undefined) this.#releaseIfIdle(endpoint);
  }

  // ----- the clock -----

  #watch(endpoint: Endpoint): void {
    this.#active.add(endpoint);
    this.#idleSince = undefined;
    if (this.#stopTicking !== undefined || this.#closed) return;
    this.#lanes.fast.wake();
    this.#lastTick = this.#clock.now();
    this.#stopTicking = this.#clock.every(TICK_MS, () => this.#tick());
  }

  #tick(): void {
    const now = this.#clock.now();
    const sinceTick = now - this.#lastTick;
    const isLate = sinceTick > LATE_TICK_MS;
    this.#lastTick = now;
    if (isLate) this.#unansweredLimit.forgive(sinceTick);
    else {
      for (const lane of this.#lanes.fast.stuck(now)) this.#removal.setAside(lane);
      for (const lane of this.#lanes.overdue(now)) this.#end(lane, 'timeout');
      this.#waiting.giveOut();
    }
    for (const endpoint of this.#active) {
      expire(endpoint.queue, now, endpoint, this.#unansweredLimit.lost(endpoint));
      this.#releaseIfIdle(endpoint);
    }
    this.#lanes.large.expire(now, (endpoint) => this.#unansweredLimit.lost(endpoint));
    if (now - this.#lastMemoryCheck >= MEMORY_CHECK_MS) {
      this.#lastMemoryCheck = now;
      for (const lane of this.#lanes.tooLarge()) this.#end(lane, 'memory');
      for (const lane of this.#lanes.fast.tooLarge(now)) this.#removal.recycle(lane);
      this.#waiting.giveOut();
    }
    this.#lanes.endUseless(now);
    this.#stopWhenIdle(now);
  }

  #stopWhenIdle(now: number): void {
    const isIdle = this.#active.size === 0 && this.#lanes.isIdle;
    this.#idleSince = isIdle ? (this.#idleSince ?? now) : undefined;
    if (this.#idleSince === undefined || now - this.#idleSince <= IDLE_UNTIL_ASLEEP_MS) return;
    this.#stopTicking?.();
    this.#stopTicking = undefined;
    this.#lanes.fast.rest();
  }
}
