/**
 * Shares the sandbox processes among the endpoints.
 *
 * Calls run in a fast lane: one process that answers batch after batch. When it falls silent, the batch at
 * its head is the guilty one. That process is set aside to finish, or to be ended at the limit, and a
 * spare takes its place with the work that had not begun; so a call that passes its limit costs only itself.
 * Endpoints that did this run in the quarantine from then on, one call a process, until they behave.
 */
import { overloaded } from '../../lib/errors.ts';
import type { Cells } from './cells.ts';
import { deliver, errorOf, expire } from './answers.ts';
import { FastLanes } from './fast-lanes.ts';
import type { Question, RunFailure } from './frames.ts';
import type { Level, Line } from './from-sandbox.ts';
import type { JsEndpoint, PendingCall } from './js-endpoint.ts';
import { workOf } from './lane.ts';
import type { Lane, LaneEvents, Work } from './lane.ts';
import { LARGE_BODY, LargeBodies } from './large-bodies.ts';
import { Quarantine } from './quarantine.ts';
import { Recovery, blame, settle } from './recovery.ts';
import { uptime } from '../../lib/uptime.ts';

export interface SchedulerOptions {
  /** Processes of the fast lane. */
  readonly sandboxes: number;
  readonly heapMb: number;
  readonly queueLimit: number;
  /** Answers what code asks of the activator; JSON, or `!` and a JSON string. Called outside of the sandbox when `calledOut`. */
  readonly answer: (
    lane: Lane,
    work: Work,
    question: Question,
  ) => { text: string } | { outside: () => Promise<string> };
  readonly log: (endpoint: JsEndpoint, level: Level, text: string) => void;
  readonly warn: (facts: Record<string, unknown>, message: string) => void;
}

const TICK = 25;
/** Batches of one endpoint on their way: the next is there when one is answered. */
const IN_FLIGHT = 2;

export class Scheduler implements AsyncDisposable {
  readonly #options: SchedulerOptions;
  readonly #events: LaneEvents;
  readonly #fast: FastLanes;
  readonly #quarantine: Quarantine;
  readonly #large: LargeBodies;
  readonly #recovery: Recovery;
  readonly #due = new Set<JsEndpoint>();
  readonly #active = new Set<JsEndpoint>();
  #flushing = false;
  #timer: NodeJS.Timeout | undefined;
  #lastTick = 0;
  #lastMemoryCheck = 0;
  #idleTicks = 0;
  #closed = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#events = {
      onReady: () => {
        this.#fast.onReady();
        this.#recovery.takeUp();
      },
      onLoaded: (lane, work, problem) => this.#onLoaded(lane, work, problem),
      onDone: (lane, work, lines, microseconds) => this.#onDone(lane, work, lines, microseconds),
      onFailed: (lane, work, failure) => this.#onFailed(lane, work, failure),
      onAsk: (lane, work, question) => this.#onAsk(lane, work, question),
      onLog: (endpoint, level, text) => options.log(endpoint, level, text),
      onExit: (lane, work, reason) => this.#recovery.afterExit(lane, work, reason),
    };
    this.#quarantine = new Quarantine(this.#events, options.heapMb);
    this.#fast = new FastLanes(this.#events, options.sandboxes);
    this.#large = new LargeBodies(this.#events, options.heapMb);
    this.#recovery = new Recovery(this.#fast, this.#quarantine, this.#large, {
      assign: (work) => this.#assign(work),
      dispatch: (endpoint) => this.#dispatch(endpoint),
      next: (lane, endpoint) => this.#next(lane, endpoint),
      warn: options.warn,
    });
  }

  get processes(): number {
    return this.#lanes().length;
  }

  get quarantined(): number {
    return this.#quarantine.cells.size;
  }

  /** Why there is no sandbox, while that is so. */
  get problem(): string | undefined {
    return this.#fast.problem;
  }

  /** Runs the top level of an endpoint's code once. Gives the problem, or empty text. */
  load(endpoint: JsEndpoint): Promise<string> {
    return new Promise((resolve) => {
      this.#assign(workOf(endpoint, [], { loaded: resolve }));
      this.#watch();
    });
  }

  /** Lets the calls that are there run together with those that come in the same turn of the event loop. */
  submit(endpoint: JsEndpoint, call: PendingCall): void {
    if (endpoint.queue.length + endpoint.large >= this.#options.queueLimit) {
      call.reject(overloaded(`${this.#options.queueLimit} calls wait for ${endpoint.id} already; try again later`));
      return;
    }
    if (call.input.length > LARGE_BODY) {
      endpoint.large++;
      this.#active.add(endpoint);
      this.#watch();
      this.#large.add(endpoint, call);
      return;
    }
    endpoint.queue.push(call);
    this.#due.add(endpoint);
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      for (const each of this.#due) this.#dispatch(each);
      this.#due.clear();
    });
  }

  forget(endpoint: JsEndpoint): void {
    endpoint.disposed = true;
    this.#release(endpoint);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#recovery.close();
    clearInterval(this.#timer);
    for (const lane of this.#lanes()) lane.end();
    await Promise.resolve();
  }

  #lanes(): Lane[] {
    return [...this.#fast.all(), ...this.#cells.flatMap((cells) => [...cells.lanes()])];
  }

  /** Processes that do one work at a time. */
  get #cells(): Cells[] {
    return [this.#quarantine.cells, ...this.#large.cells];
  }

  // ----- giving out work -----

  #dispatch(endpoint: JsEndpoint): void {
    this.#active.add(endpoint);
    this.#watch();
    if (endpoint.quarantined) return this.#quarantine.offer(endpoint);
    while (endpoint.inFlight < IN_FLIGHT * this.#fast.count && endpoint.queue.length > 0) {
      this.#assign(workOf(endpoint, endpoint.take(false)));
    }
  }

  #assign(work: Work): void {
    work.endpoint.inFlight++;
    if (work.endpoint.quarantined && work.loaded !== undefined) this.#quarantine.start(work);
    else this.#fast.run(work);
  }

  // ----- answers -----

  #onLoaded(lane: Lane, work: Work, problem: string): void {
    work.endpoint.inFlight--;
    work.loaded?.(problem);
    this.#next(lane, work.endpoint);
  }

  #onDone(lane: Lane, work: Work, lines: readonly Line[], microseconds: number): void {
    const { endpoint, calls } = work;
    settle(work);
    if (!work.isLarge) endpoint.answered(calls.length, microseconds);
    this.#next(lane, endpoint);
    for (let i = 0; i < calls.length; i++) {
      const [call, line] = [calls[i], lines[i]];
      if (call !== undefined && line !== undefined) deliver(call, line, endpoint);
    }
  }

  #onFailed(lane: Lane, work: Work, failure: RunFailure): void {
    const { endpoint, calls } = work;
    const runsAway = failure.why === 'memory' || (failure.why === 'timeout' && !work.isCurtailed);
    if (failure.why !== 'threw' || calls.length > 1) blame(work, runsAway);
    else if (!work.isLarge) endpoint.runsAway = false;
    if (calls.length > 1) {
      endpoint.inFlight--;
      this.#recovery.again(work);
    } else {
      settle(work);
      for (const call of calls) call.reject(errorOf(failure, work));
    }
    this.#next(lane, endpoint);
  }

  /** What a lane and an endpoint do after an answer. */
  #next(lane: Lane, endpoint: JsEndpoint): void {
    const cells = this.#recovery.cellsWith(lane);
    if (cells !== undefined) {
      cells.free(lane);
      this.#quarantine.pump();
      this.#large.pump();
    } else if (this.#fast.stranded.length > 0) this.#recovery.takeUp();
    if (endpoint.queue.length > 0) this.#dispatch(endpoint);
    else if (endpoint.inFlight === 0 && endpoint.large === 0) {
      this.#active.delete(endpoint);
      this.#release(endpoint);
    }
  }

  /** An endpoint that was replaced leaves the sandboxes when its last call has been answered. */
  #release(endpoint: JsEndpoint): void {
    if (!endpoint.disposed || endpoint.inFlight + endpoint.large + endpoint.queue.length > 0) return;
    for (const lane of this.#lanes()) lane.forget(endpoint);
  }

  // ----- questions of code that runs -----

  #onAsk(lane: Lane, work: Work, question: Question): void {
    const answer = this.#options.answer(lane, work, question);
    if ('text' in answer) {
      lane.reply(answer.text);
      return;
    }
    const { endpoint } = work;
    if (!work.isLarge) endpoint.callsOut = true;
    if (work.calls.length > 1) {
      // Nothing has left the sandbox yet, so each can begin again, in a process of its own.
      this.#recovery.setAside(lane);
      return;
    }
    if (this.#recovery.cellsWith(lane) === undefined) this.#recovery.setAside(lane);
    blame(work, endpoint.runsAway);
    work.calledOut = true;
    lane.waits = true;
    void answer.outside().then((text) => {
      lane.waits = false;
      lane.reply(text);
    });
  }

  // ----- the clock -----

  #watch(): void {
    this.#idleTicks = 0;
    if (this.#timer !== undefined || this.#closed) return;
    this.#lastTick = uptime();
    this.#timer = setInterval(() => this.#tick(), TICK);
    this.#timer.unref();
  }

  #tick(): void {
    const now = uptime();
    // When this process itself was held up, answers may lie in its sockets unread.
    const late = now - this.#lastTick > 3 * TICK;
    this.#lastTick = now;
    if (!late) {
      for (const lane of this.#fast.stuck(now)) this.#recovery.setAside(lane);
      for (const cells of this.#cells) for (const lane of cells.overdue(now)) this.#recovery.end(lane, 'timeout');
      this.#recovery.takeUp();
    }
    for (const endpoint of this.#active) {
      expire(endpoint.queue, now, endpoint);
      if (endpoint.queue.length + endpoint.inFlight + endpoint.large === 0) this.#active.delete(endpoint);
    }
    this.#large.expire(now);
    for (const work of this.#fast.stranded) expire(work.calls, now, work.endpoint);
    if (now - this.#lastMemoryCheck >= 4 * TICK) {
      this.#lastMemoryCheck = now;
      for (const cells of this.#cells) for (const lane of cells.tooLarge()) this.#recovery.end(lane, 'memory');
      for (const lane of this.#fast.tooLarge(now)) this.#recovery.recycle(lane);
    }
    this.#fast.endIdleLoader(now);
    const areIdle = this.#cells.map((cells) => cells.idle(now)).every((isIdle) => isIdle);
    const idle = this.#active.size === 0 && this.#fast.idle && areIdle;
    this.#idleTicks = idle ? this.#idleTicks + 1 : 0;
    // Until processes that have grown were replaced.
    if (this.#idleTicks > 4000 / TICK) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}
