/** Carries work to a sandbox process and tells what comes of it, in the order in which it was given; it decides nothing. */
import type { Endpoint } from './endpoint.ts';
import { OddFrame } from '../supervisor/frames.ts';
import { failureOf, linesOf, loadProblemOf, logLineOf, mostBytes, questionOf, recordLinesOf } from './from-process.ts';
import type { LaneContext } from './lane-context.ts';
import type { Policy } from './policy.ts';
import {
  ASK,
  BEGUN,
  CHECK,
  DONE,
  DONE_RECORDS,
  DROP,
  FAILED,
  LOAD,
  LOADED,
  LOG,
  READY,
  REPLY,
  RUN,
  RUN_RECORDS,
} from './protocol.ts';
import type { RunFailure } from './protocol.ts';
import { diesWithActivator } from '../supervisor/process.ts';
import type { Sandbox } from '../supervisor/process.ts';
import type { Work } from '../supervisor/work.ts';

export class Lane {
  readonly process: Sandbox;
  /** In the order in which it was sent, which is the order in which it is answered. */
  readonly open: Work[] = [];
  /** Milliseconds of the clock of the last sign of life. */
  progress: number;
  readonly startedAt: number;
  ready = false;
  readonly #context: LaneContext;
  /** The endpoints whose code the sandbox has, by slot, in the order of their last use. */
  readonly #known = new Map<number, Endpoint>();
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
  /** Milliseconds of processor time that it had used when it was first found silent. */
  #workAtSuspicion: number | undefined;

  constructor(context: LaneContext) {
    this.#context = context;
    this.startedAt = this.progress = context.clock.now();
    this.process = context.start({
      onFrame: (kind, a, b, text) => this.#onFrame(kind, a, b, text),
      mostOf: (kind) => mostBytes(kind, this.open[0]?.size ?? 0, this.open[0]?.endpoint.parts.maxResult ?? 0),
      onExit: (reason) => {
        if (!this.#ended) context.events.onExit(this, this.open.splice(0), reason);
      },
    });
  }

  /**
   * `guard`: the sandbox itself ends the code at its limit, which costs a little and saves the process. Such work runs
   * alone, and its time begins when the sandbox says that it has begun, however late it comes to a core.
   */
  run(work: Work, guard: boolean): void {
    const { endpoint, calls } = work;
    const now = this.#context.clock.now();
    this.open.push(work);
    if (this.open.length === 1) {
      this.progress = now;
      if (guard) work.awaitTurn(latestBegin(work, now, this.#context.policy));
      else work.begin(now);
    }
    const first = calls[0];
    if (first === undefined) return guard ? this.#bring(endpoint, true, true) : this.#check(endpoint);
    this.#bring(endpoint, false, guard);
    if (guard) this.#begins++;
    const left = Math.max(1, work.endIfBegunAt(now) - now);
    const head = `${first.depth},${left},${guard || !diesWithActivator ? 1 : 0}\n`;
    if (first.records !== undefined)
      return this.process.send(RUN_RECORDS, endpoint.slot, guard ? 1 : 0, head + first.input, 'latin1');
    let inputs = first.input;
    for (let i = 1; i < calls.length; i++) inputs += '\0' + (calls[i]?.input ?? '');
    this.process.send(RUN, endpoint.slot, guard ? 1 : 0, head + inputs);
  }

  /** Ends the process; nobody is told. */
  end(): void {
    this.#ended = true;
    this.process.kill();
  }

  /** Takes a later place on the machine's cores, once it has come up. */
  lowerPriority(places: number): void {
    this.#priority = places;
    if (this.ready) this.process.lowerPriority(places);
  }

  reply(text: string): void {
    this.#asks = false;
    this.process.send(REPLY, 0, 0, text);
  }

  /** True when the sandbox has the code of an endpoint; marks it as known, since the caller sends it now. */
  knows(endpoint: Endpoint): boolean {
    const known = this.#known.delete(endpoint.slot);
    this.#known.set(endpoint.slot, endpoint);
    if (endpoint.slot > this.#highestSlot) this.#highestSlot = endpoint.slot;
    const [oldest] = this.#known.values();
    if (this.#known.size > this.#context.policy.mostIsolates && oldest !== undefined) this.forget(oldest);
    return known;
  }

  forget(endpoint: Endpoint): void {
    if (this.#known.delete(endpoint.slot)) this.process.send(DROP, endpoint.slot, 0, '');
  }

  /** Endpoints whose code it has. */
  get isolates(): number {
    return this.#known.size;
  }

  /** Its code waits for an answer from outside, and uses no core meanwhile. */
  get isWaiting(): boolean {
    return this.open[0]?.state === 'asking';
  }

  /** A call is among its work, running or waiting. */
  get holdsUpCalls(): boolean {
    return this.open.some((work) => work.kind !== 'load');
  }

  /** Microseconds until all its work is done, by what is expected of it. */
  get backlog(): number {
    let sum = 0;
    for (const { size, endpoint } of this.open) sum += size * endpoint.pace;
    return sum;
  }

  /** Milliseconds of processor time since it was suspected, which it is now. */
  suspect(): number {
    const used = this.process.processorTime();
    this.#workAtSuspicion ??= used;
    return used - this.#workAtSuspicion;
  }

  get isSuspected(): boolean {
    return this.#workAtSuspicion !== undefined;
  }

  clearOfSuspicion(): void {
    this.#workAtSuspicion = undefined;
  }

  /** Takes away all work but the first, which is the one that keeps the sandbox busy. */
  takeRest(): Work[] {
    return this.open.splice(1);
  }

  #bring(endpoint: Endpoint, always: boolean, guard: boolean): void {
    if (this.knows(endpoint) && !always) return;
    this.#loading.push(endpoint.slot);
    if (guard) this.#begins++;
    this.process.send(LOAD, endpoint.slot, guard ? 1 : 0, endpoint.parts.loadText);
  }

  /** Finds out beside other code whether it can be loaded, which costs a fraction of loading it. */
  #check({ slot, parts }: Endpoint): void {
    if (slot > this.#highestSlot) this.#highestSlot = slot;
    this.#loading.push(slot);
    this.process.send(CHECK, slot, 0, parts.loadText);
  }

  /** @throws OddFrame. */
  #onFrame(kind: number, a: number, b: number, text: string): void {
    if (kind === ASK) return this.#onAsk(text);
    if (kind === LOG) return this.#onLog(a, text);
    // Questions and log lines are no sign that the code will end.
    this.progress = this.#context.clock.now();
    this.#workAtSuspicion = undefined;
    const { events } = this.#context;
    if (kind === DONE || kind === DONE_RECORDS || kind === FAILED) {
      const work = this.#answered(a);
      if (kind !== FAILED && (work.calls[0]?.records !== undefined) !== (kind === DONE_RECORDS))
        throw new OddFrame('an answer is of another kind');
      if (kind === DONE_RECORDS) {
        const lines = recordLinesOf(text, work.size);
        this.#shift();
        events.onRecordsDone(this, work, lines, b);
      } else if (kind === DONE) {
        const lines = linesOf(text, work.calls.length);
        this.#shift();
        events.onDone(this, work, lines, b);
      } else {
        const failure = this.#withLoadProblem(failureOf(text));
        this.#shift();
        events.onFailed(this, work, failure);
      }
    } else if (kind === LOADED) this.#onLoaded(a, loadProblemOf(text));
    else if (kind === BEGUN) this.#onBegun(a);
    else if (kind === READY) this.#onReady();
  }

  /** The work of which the answer came. @throws OddFrame when nobody asked for it. */
  #answered(slot: number): Work {
    const [work] = this.open;
    if (work === undefined || work.kind === 'load' || work.endpoint.slot !== slot || this.#asks)
      throw new OddFrame('nobody asked for an answer');
    return work;
  }

  /** The next in line has its turn now. */
  #shift(): void {
    this.open.shift();
    this.#logLines = 0;
    this.open[0]?.begin(this.progress);
  }

  #onReady(): void {
    if (this.ready) throw new OddFrame('it is ready twice');
    this.ready = true;
    if (this.#priority > 0) this.process.lowerPriority(this.#priority);
    this.#context.events.onReady();
  }

  #onBegun(slot: number): void {
    const [work] = this.open;
    if (work?.endpoint.slot !== slot || this.#begins-- <= 0) throw new OddFrame('it begins what nobody gave to it');
    if (!work.hasBegun) work.begin(this.progress);
  }

  #onAsk(text: string): void {
    const [work] = this.open;
    const call = work?.calls[0];
    if (work === undefined || call === undefined || this.#asks) throw new OddFrame('nothing runs that could ask');
    const question = questionOf(text, call.depth, Math.max(0, work.deadline - this.#context.clock.now()));
    this.#asks = true;
    this.#context.events.onAsk(this, work, question);
  }

  #onLog(slot: number, text: string): void {
    if (slot === 0 || slot > this.#highestSlot) throw new OddFrame('what has no code logs');
    if (++this.#logLines > this.#context.policy.mostLogLines)
      throw new OddFrame('it logs more lines than a sandbox lets through');
    const { level, line } = logLineOf(text);
    const [work] = this.open;
    const endpoint = work?.endpoint.slot === slot ? work.endpoint : this.#known.get(slot);
    endpoint?.parts.log(level, line);
  }

  #onLoaded(slot: number, problem: string): void {
    if (this.#loading.shift() !== slot) throw new OddFrame('it loads what nobody gave to it');
    const [work] = this.open;
    this.#loadProblem = problem;
    if (problem !== '') this.#known.delete(slot);
    if (work?.kind !== 'load' || work.endpoint.slot !== slot) return;
    this.#shift();
    this.#context.events.onLoaded(this, work, problem);
  }

  #withLoadProblem(failure: RunFailure): RunFailure {
    return this.#loadProblem !== '' && failure.message === 'the endpoint is not loaded'
      ? { why: 'threw', message: this.#loadProblem }
      : failure;
  }
}

/** A sandbox that is ready begins soon, or it has no core. */
function latestBegin({ calls, endpoint }: Work, now: number, { starvedMs }: Policy): number {
  let latest = now + Math.min(starvedMs, endpoint.limit);
  for (const { beginBy } of calls) if (beginBy > latest) latest = beginBy;
  return latest;
}
