/** A sandbox process and the work that was given to it, in the order in which it answers. */
import { DONE, DROP, FAILED, ASK, LOAD, LOADED, LOG, READY, REPLY, RUN } from './frames.ts';
import type { Question, RunFailure } from './frames.ts';
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
  /** Milliseconds of `uptime()`; set when it is sent. */
  deadline: number;
  /** It has made a call outside of the sandbox, so it must not run twice. */
  calledOut: boolean;
}

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
  onDone(lane: Lane, work: Work, lines: string, microseconds: number): void;
  onFailed(lane: Lane, work: Work, failure: RunFailure, microseconds: number): void;
  onAsk(lane: Lane, work: Work, question: Question): void;
  onLog(endpoint: JsEndpoint, level: string, text: string): void;
  /** The process ended; `work` is what it had not answered. */
  onExit(lane: Lane, work: readonly Work[], reason: string): void;
}

/** About 3 MB each when used. */
const MOST_ISOLATES = 300;

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
  #loadProblem = '';
  #ended = false;
  #priority = 0;

  constructor(events: LaneEvents) {
    this.#events = events;
    this.process = new SandboxProcess({
      onFrame: (kind, a, b, text) => this.#onFrame(kind, a, b, text),
      onExit: (reason) => {
        if (!this.#ended) events.onExit(this, this.open.splice(0), reason);
      },
    });
  }

  /** `guard`: V8 itself ends the code at its limit, which costs a little and saves the process. */
  run(work: Work, guard: boolean): void {
    const { endpoint, calls } = work;
    const now = uptime();
    if (this.open.length === 0) this.progress = now;
    const first = calls[0];
    work.deadline = now + endpoint.limit;
    for (const call of calls) if (call.deadline < work.deadline) work.deadline = call.deadline;
    this.open.push(work);
    this.#bring(endpoint, first === undefined);
    if (first === undefined) return;
    const head = `${first.depth},${Math.max(1, work.deadline - now)},${guard || !diesWithActivator ? 1 : 0}\n`;
    let inputs = first.input;
    for (let i = 1; i < calls.length; i++) inputs += '\0' + (calls[i]?.input ?? '');
    this.process.send(RUN, endpoint.slot, 0, head + inputs);
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
    this.process.send(REPLY, 0, 0, text);
  }

  /** True when the sandbox has the code of an endpoint; marks it as known, since the caller sends it now. */
  knows(endpoint: JsEndpoint): boolean {
    const known = this.#known.delete(endpoint.slot);
    this.#known.set(endpoint.slot, endpoint);
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

  #bring(endpoint: JsEndpoint, always: boolean): void {
    if (!this.knows(endpoint) || always) this.process.send(LOAD, endpoint.slot, 0, endpoint.loadText);
  }

  #onFrame(kind: number, a: number, b: number, text: string): void {
    // Questions and log lines are no sign that the code will end.
    if (kind !== ASK && kind !== LOG) {
      this.progress = uptime();
      this.workAtSuspicion = undefined;
    }
    const work = this.open[0];
    if (kind === DONE || kind === FAILED) {
      if (work === undefined || work.endpoint.slot !== a) return this.process.kill();
      this.open.shift();
      if (kind === DONE) this.#events.onDone(this, work, text, b);
      else this.#events.onFailed(this, work, this.#failure(text), b);
    } else if (kind === LOADED) {
      this.#onLoaded(work, a, text);
    } else if (kind === ASK && work !== undefined) {
      const end = text.indexOf('\n');
      const about = JSON.parse(text.slice(0, end)) as Omit<Question, 'body'>;
      this.#events.onAsk(this, work, { ...about, body: text.slice(end + 1) });
    } else if (kind === LOG) {
      const endpoint = this.#known.get(a);
      const end = text.indexOf('\n');
      if (endpoint !== undefined) this.#events.onLog(endpoint, text.slice(0, end), text.slice(end + 1));
    } else if (kind === READY) {
      this.ready = true;
      if (this.#priority > 0) this.process.giveWay(this.#priority);
      this.#events.onReady();
    }
  }

  #onLoaded(work: Work | undefined, slot: number, problem: string): void {
    this.#loadProblem = problem;
    if (problem !== '') this.#known.delete(slot);
    if (work?.loaded === undefined || work.endpoint.slot !== slot) return;
    this.open.shift();
    const [next] = this.open;
    // It waited for this one, and its own time begins now.
    if (next?.loaded !== undefined) next.deadline = uptime() + next.endpoint.limit;
    this.#events.onLoaded(this, work, problem);
  }

  #failure(text: string): RunFailure {
    const failure = JSON.parse(text) as RunFailure;
    return this.#loadProblem !== '' && failure.message === 'the endpoint is not loaded'
      ? { why: 'threw', message: this.#loadProblem }
      : failure;
  }
}
