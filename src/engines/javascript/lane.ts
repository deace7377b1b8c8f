/** A sandbox process and the work that was given to it, in the order in which it answers. */
import { ASK, BEGUN, DONE, DROP, FAILED, LOAD, LOADED, LOG, OddFrame, READY, REPLY, RUN } from './frames.ts';
import type { Question, RunFailure } from './frames.ts';
import { failureOf, linesOf, loadProblemOf, logLineOf, mostBytes, questionOf } from './from-sandbox.ts';
import type { Level, Line } from './from-sandbox.ts';
import { UNKNOWN_MICROSECONDS } from './js-endpoint.ts';
import type { JsEndpoint, PendingCall } from './js-endpoint.ts';
import { SandboxProcess, diesWithActivator } from './sandbox-process.ts';
import { uptime } from '../../lib/uptime.ts';

/** Calls of one endpoint, or the first load of one. */
export interface Work {
  readonly endpoint: JsEndpoint;
  readonly calls: PendingCall[];
  /** For the load at activation; empty text when it worked. */
  readonly loaded?: (problem: string) => void;
  attempts: number;
  /** Milliseconds of `uptime()` by which it must have ended, or, before it has begun, by which it must begin. */
  deadline: number;
  hasBegun: boolean;
  /** Its caller had less time left than the limit of the endpoint. */
  isCurtailed: boolean;
  /** It has made a call outside of the sandbox, so it must not run twice. */
  calledOut: boolean;
  /** A call with a large body: what it takes says nothing of the code, and marks no endpoint. */
  readonly isLarge: boolean;
}

export const workOf = (
  endpoint: JsEndpoint,
  calls: PendingCall[],
  more: Partial<Pick<Work, 'loaded' | 'isLarge'>> = {},
): Work => ({
  endpoint,
  calls,
  attempts: 0,
  deadline: 0,
  hasBegun: false,
  isCurtailed: false,
  calledOut: false,
  isLarge: false,
  ...more,
});

/**
 * What has shown its manners goes first: the next in line may be as bad as the one before. What is known to be slow
 * goes last, since it holds up all others.
 */
export const byManners = ({ endpoint: a }: Work, { endpoint: b }: Work): number =>
  Math.sign(a.pace - UNKNOWN_MICROSECONDS) - Math.sign(b.pace - UNKNOWN_MICROSECONDS) || b.trust - a.trust;

export interface LaneEvents {
  onReady(): void;
  /** `problem`: empty text when it worked. */
  onLoaded(lane: Lane, work: Work, problem: string): void;
  onDone(lane: Lane, work: Work, lines: readonly Line[], microseconds: number): void;
  onFailed(lane: Lane, work: Work, failure: RunFailure, microseconds: number): void;
  onAsk(lane: Lane, work: Work, question: Question): void;
  onLog(endpoint: JsEndpoint, level: Level, text: string): void;
  /** The process ended; `work` is what it had not answered. */
  onExit(lane: Lane, work: readonly Work[], reason: string): void;
}

/** About 3 MB each when used. */
const MOST_ISOLATES = 300;
/** Between two answers; a sandbox lets 100 through, and as many while it loads code. */
const MOST_LOG_LINES = 200;
/** Milliseconds in which a process that has work gets to a core, even where many want one. */
const STARVED = 1000;

export class Lane {
  readonly process: SandboxProcess;
  /** In the order in which it was sent, which is the order in which it is answered. */
  open: Work[] = [];
  /** Milliseconds of `uptime()` of the last sign of life. */
  progress = uptime();
  ready = false;
  /** Milliseconds of processor time that it had used when it was first found silent. */
  workAtSuspicion: number | undefined;
  /** Its code waits for an answer from outside, and uses no core meanwhile. */
  waits = false;
  readonly #events: LaneEvents;
  /** The endpoints whose code the sandbox has, by slot, in the order of their last use. */
  readonly #known = new Map<number, JsEndpoint>();
  /** Slots of the code that it was given and has not loaded yet. */
  readonly #loading: number[] = [];
  #highestSlot = 0;
  /** Times that it is to say that it begins. */
  #begins = 0;
  #logLines = 0;
  /** Its code waits for a reply. */
  #asks = false;
  #loadProblem = '';
  #ended = false;
  #priority = 0;

  constructor(events: LaneEvents) {
    this.#events = events;
    this.process = new SandboxProcess({
      onFrame: (kind, a, b, text) => this.#onFrame(kind, a, b, text),
      mostOf: (kind) => mostBytes(kind, this.open[0]?.calls.length ?? 0, this.open[0]?.endpoint.load.maxResult ?? 0),
      onExit: (reason) => {
        if (!this.#ended) events.onExit(this, this.open.splice(0), reason);
      },
    });
  }

  /**
   * `guard`: V8 itself ends the code at its limit, which costs a little and saves the process. Such work runs alone, and
   * its time begins when the sandbox says that it has begun, however late it comes to a core.
   */
  run(work: Work, guard: boolean): void {
    const { endpoint, calls } = work;
    const now = uptime();
    this.open.push(work);
    if (this.open.length === 1) {
      this.progress = now;
      if (guard) work.deadline = latestBegin(work, now);
      else this.startClock(work, now);
    }
    const first = calls[0];
    this.#bring(endpoint, first === undefined, guard);
    if (first === undefined) return;
    if (guard) this.#begins++;
    const left = Math.max(1, endOf(work, now) - now);
    const head = `${first.depth},${left},${guard || !diesWithActivator ? 1 : 0}\n`;
    let inputs = first.input;
    for (let i = 1; i < calls.length; i++) inputs += '\0' + (calls[i]?.input ?? '');
    this.process.send(RUN, endpoint.slot, guard ? 1 : 0, head + inputs);
  }

  /** The time of work begins: its turn has come. */
  startClock(work: Work, now = uptime()): void {
    work.hasBegun = true;
    work.deadline = endOf(work, now);
    work.isCurtailed = work.deadline < now + work.endpoint.limit;
  }

  /** Ends the process; nobody is told. */
  end(): void {
    this.#ended = true;
    this.process.kill();
  }

  /** Takes a later place on the machine's cores, from 0 to `LAST_PLACE`, once it has come up. */
  giveWay(priority: number): void {
    this.#priority = priority;
    if (this.ready) this.process.giveWay(priority);
  }

  reply(text: string): void {
    this.#asks = false;
    this.process.send(REPLY, 0, 0, text);
  }

  /** True when the sandbox has the code of an endpoint; marks it as known, since the caller sends it now. */
  knows(endpoint: JsEndpoint): boolean {
    const known = this.#known.delete(endpoint.slot);
    this.#known.set(endpoint.slot, endpoint);
    if (endpoint.slot > this.#highestSlot) this.#highestSlot = endpoint.slot;
    const [oldest] = this.#known.values();
    if (this.#known.size > MOST_ISOLATES && oldest !== undefined) this.forget(oldest);
    return known;
  }

  forget(endpoint: JsEndpoint): void {
    if (this.#known.delete(endpoint.slot)) this.process.send(DROP, endpoint.slot, 0, '');
  }

  /** Endpoints whose code it has. */
  get isolates(): number {
    return this.#known.size;
  }

  /** True when a call is among its work, running or waiting. */
  get holdsUpCalls(): boolean {
    return this.open.some((work) => work.calls.length > 0);
  }

  /** Microseconds until all its work is done, by what is expected of it. */
  get backlog(): number {
    let sum = 0;
    for (const { calls, endpoint } of this.open) sum += calls.length * endpoint.pace;
    return sum;
  }

  /** Takes away all work but the first, which is the one that keeps the sandbox busy. */
  takeRest(): Work[] {
    return this.open.splice(1);
  }

  #bring(endpoint: JsEndpoint, always: boolean, guard: boolean): void {
    if (this.knows(endpoint) && !always) return;
    this.#loading.push(endpoint.slot);
    if (guard) this.#begins++;
    this.process.send(LOAD, endpoint.slot, guard ? 1 : 0, endpoint.loadText);
  }

  /** @throws OddFrame. */
  #onFrame(kind: number, a: number, b: number, text: string): void {
    if (kind === ASK) return this.#onAsk(text);
    if (kind === LOG) return this.#onLog(a, text);
    // Questions and log lines are no sign that the code will end.
    this.progress = uptime();
    this.workAtSuspicion = undefined;
    if (kind === DONE || kind === FAILED) {
      const work = this.#answered(a);
      if (kind === DONE) {
        const lines = linesOf(text, work.calls.length);
        this.#shift();
        this.#events.onDone(this, work, lines, b);
      } else {
        const failure = this.#withLoadProblem(failureOf(text));
        this.#shift();
        this.#events.onFailed(this, work, failure, b);
      }
    } else if (kind === LOADED) this.#onLoaded(a, loadProblemOf(text));
    else if (kind === BEGUN) this.#onBegun(a);
    else if (kind === READY) this.#onReady();
  }

  /** The work of which the answer came. @throws OddFrame when nobody asked for it. */
  #answered(slot: number): Work {
    const [work] = this.open;
    if (work === undefined || work.calls.length === 0 || work.endpoint.slot !== slot || this.#asks)
      throw new OddFrame('nobody asked for an answer');
    return work;
  }

  /** The next in line has its turn now. */
  #shift(): void {
    this.open.shift();
    this.#logLines = 0;
    const [next] = this.open;
    if (next !== undefined) this.startClock(next, this.progress);
  }

  #onReady(): void {
    if (this.ready) throw new OddFrame('it is ready twice');
    this.ready = true;
    if (this.#priority > 0) this.process.giveWay(this.#priority);
    this.#events.onReady();
  }

  #onBegun(slot: number): void {
    const [work] = this.open;
    if (work?.endpoint.slot !== slot || this.#begins-- <= 0) throw new OddFrame('it begins what nobody gave to it');
    if (!work.hasBegun) this.startClock(work, this.progress);
  }

  #onAsk(text: string): void {
    const [work] = this.open;
    const call = work?.calls[0];
    if (work === undefined || call === undefined || this.#asks) throw new OddFrame('nothing runs that could ask');
    const question = questionOf(text, call.depth, Math.max(0, work.deadline - uptime()));
    this.#asks = true;
    this.#events.onAsk(this, work, question);
  }

  #onLog(slot: number, text: string): void {
    if (slot === 0 || slot > this.#highestSlot) throw new OddFrame('what has no code logs');
    if (++this.#logLines > MOST_LOG_LINES) throw new OddFrame('it logs more lines than a sandbox lets through');
    const { level, line } = logLineOf(text);
    const endpoint = this.#known.get(slot);
    if (endpoint !== undefined) this.#events.onLog(endpoint, level, line);
  }

  #onLoaded(slot: number, problem: string): void {
    if (this.#loading.shift() !== slot) throw new OddFrame('it loads what nobody gave to it');
    const [work] = this.open;
    this.#loadProblem = problem;
    if (problem !== '') this.#known.delete(slot);
    if (work?.loaded === undefined || work.endpoint.slot !== slot) return;
    this.#shift();
    this.#events.onLoaded(this, work, problem);
  }

  #withLoadProblem(failure: RunFailure): RunFailure {
    return this.#loadProblem !== '' && failure.message === 'the endpoint is not loaded'
      ? { why: 'threw', message: this.#loadProblem }
      : failure;
  }
}

const byDeadline = ({ calls }: Work, most: number): number =>
  calls.reduce((least, { deadline }) => Math.min(least, deadline), most);

/** Milliseconds of `uptime()` at which work ends that begins now. */
const endOf = (work: Work, now: number): number => byDeadline(work, now + work.endpoint.limit);

/** A sandbox that is ready begins soon, or it has no core. */
const latestBegin = ({ calls, endpoint }: Work, now: number): number =>
  calls.reduce((latest, { patience }) => Math.max(latest, patience), now + Math.min(STARVED, endpoint.limit));
