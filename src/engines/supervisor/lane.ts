/** Carries work to a sandbox process and tells what comes of it, in the order in which it was given; it decides nothing. */
import type { Endpoint } from './endpoint.ts';
import { OddFrame } from './frames.ts';
import { failureOf, linesOf, logLineOf, mostBytesOfSandbox, nestedQuestionOf, recordLinesOf } from './from-program.ts';
import type { ProgramFailure } from './from-program.ts';
import type { LaneContext } from './lane-context.ts';
import type { Policy } from './policy.ts';
import { answers, kinds } from './messages.ts';
import { diesWithActivator } from './process.ts';
import type { Sandbox } from './process.ts';
import type { Work } from './work.ts';

/** Endpoints whose code a process has: about 3 MB each when used. */
const MOST_ISOLATES = 300;
/** Lines between two answers; a sandbox lets 100 through, and as many while it loads code. */
const MOST_LOG_LINES = 200;

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
  #highestSlot = 0;
  /** Number of the last work that it was given, and of the first that is open. */
  #last = 0;
  #first = 1;
  /** Signs of life that it owes: the one that it is there, and one for each endpoint that it was given. */
  #signs = 1;
  /** Number of the work of which it is to say that it begins; 0 for none. */
  #toBegin = 0;
  #logLines = 0;
  /** Its code waits for a reply. */
  #asks = false;
  #ended = false;
  #priority = 0;
  /** Milliseconds of processor time that it had used when it was first found silent. */
  #workAtSuspicion: number | undefined;

  constructor(context: LaneContext) {
    this.#context = context;
    this.startedAt = this.progress = context.clock.now();
    this.process = context.start({
      onFrame: (kind, a, b, text) => this.#onFrame(kind, a, b, text),
      mostOf: (kind) => mostBytesOfSandbox(kind, this.open[0]?.size ?? 0, this.open[0]?.endpoint.parts.maxResult ?? 0),
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
    const number = ++this.#last;
    this.open.push(work);
    if (this.open.length === 1) {
      this.progress = now;
      this.#first = number;
      if (guard) work.awaitTurn(latestBegin(work, now, this.#context.policy));
      else work.begin(now);
    }
    if (guard) this.#toBegin = number;
    const first = calls[0];
    if (first === undefined) return this.#load(number, endpoint, guard);
    const wasBrought = this.#bring(endpoint, guard ? number : 0);
    const says = guard && !wasBrought ? 1 : 0;
    const left = Math.max(1, work.endIfBegunAt(now) - now);
    const head = `${first.depth},${left},${guard || !diesWithActivator ? 1 : 0}\n`;
    if (first.records !== undefined)
      return this.process.send(kinds.records, number, 2 * endpoint.slot + says, head + first.input, 'latin1');
    let inputs = first.input;
    for (let i = 1; i < calls.length; i++) inputs += '\0' + (calls[i]?.input ?? '');
    this.process.send(kinds.batch, number, 2 * endpoint.slot + says, head + inputs);
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
    this.process.send(kinds.reply, 0, 0, text);
  }

  /** True when the sandbox has the code of an endpoint; marks it as known, since the caller sends it now. */
  knows(endpoint: Endpoint): boolean {
    const known = this.#known.delete(endpoint.slot);
    this.#known.set(endpoint.slot, endpoint);
    if (endpoint.slot > this.#highestSlot) this.#highestSlot = endpoint.slot;
    const [oldest] = this.#known.values();
    if (this.#known.size > MOST_ISOLATES && oldest !== undefined) this.forget(oldest);
    return known;
  }

  forget(endpoint: Endpoint): void {
    if (this.#known.delete(endpoint.slot)) this.process.send(kinds.drop, endpoint.slot, 0, '');
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

  /** True where it had to be sent. `number`: of the work for which it is sent, which begins with it; 0 where nobody asks. */
  #bring(endpoint: Endpoint, number: number): boolean {
    if (this.knows(endpoint)) return false;
    this.#signs++;
    this.process.send(kinds.define, endpoint.slot, number, endpoint.parts.loadText);
    return true;
  }

  /** Without `guard` it finds out beside other code whether it can be loaded, which costs a fraction of loading it. */
  #load(number: number, endpoint: Endpoint, guard: boolean): void {
    const { slot, parts } = endpoint;
    if (guard) this.knows(endpoint);
    else if (slot > this.#highestSlot) this.#highestSlot = slot;
    this.process.send(guard ? kinds.load : kinds.check, number, 2 * slot + (guard ? 1 : 0), parts.loadText);
  }

  /** @throws OddFrame. */
  #onFrame(kind: number, a: number, b: number, text: string): void {
    if (kind === kinds.ask) return this.#onAsk(b, text);
    if (kind === kinds.log) return this.#onLog(a, text);
    // Questions and log lines are no sign that the code will end.
    this.progress = this.#context.clock.now();
    this.#workAtSuspicion = undefined;
    if (kind === kinds.ping) this.#onSign();
    else if (kind === kinds.begun) this.#onBegun(a);
    else if (kind === kinds.answer)
      this.#onAnswer(this.#answered(a), b === answers.result && text === '' ? undefined : failureOf(b, text));
    else if (kind === kinds.results || kind === kinds.lines) this.#onResults(this.#answered(a), kind, b, text);
  }

  /** The work of which the answer came. @throws OddFrame when nobody asked for it. */
  #answered(number: number): Work {
    const [work] = this.open;
    if (work === undefined || this.#first !== number || this.#asks) throw new OddFrame('nobody asked for an answer');
    return work;
  }

  #onResults(work: Work, kind: number, microseconds: number, text: string): void {
    const { events } = this.#context;
    const areRecords = work.calls[0]?.records !== undefined;
    if (work.kind === 'load' || areRecords !== (kind === kinds.lines))
      throw new OddFrame('an answer is of another kind');
    if (areRecords) {
      const lines = recordLinesOf(text, work.size, work.size, false);
      this.#shift();
      events.onRecordsDone(this, work, lines, microseconds);
    } else {
      const lines = linesOf(text, work.calls.length);
      this.#shift();
      events.onDone(this, work, lines, microseconds);
    }
  }

  #onAnswer(work: Work, failure: ProgramFailure | undefined): void {
    const { events } = this.#context;
    if (failure?.kind === 'unloaded') this.#known.delete(work.endpoint.slot);
    if (work.kind === 'load') {
      if (failure !== undefined) this.#known.delete(work.endpoint.slot);
      this.#shift();
      events.onLoaded(
        this,
        work,
        failure === undefined ? '' : failure.kind === 'unloaded' ? failure.description : failure.kind,
      );
    } else {
      if (failure === undefined) throw new OddFrame('a call has no result');
      this.#shift();
      events.onFailed(this, work, failure.kind === 'unloaded' ? { ...failure, kind: 'thrown' } : failure);
    }
  }

  /** The next in line has its turn now. */
  #shift(): void {
    this.open.shift();
    this.#first++;
    this.#logLines = 0;
    this.open[0]?.begin(this.progress);
  }

  #onSign(): void {
    if (this.#signs-- <= 0) throw new OddFrame('nobody asked whether it is alive');
    if (this.ready) return;
    this.ready = true;
    if (this.#priority > 0) this.process.lowerPriority(this.#priority);
    this.#context.events.onReady();
  }

  #onBegun(number: number): void {
    const [work] = this.open;
    if (work === undefined || this.#first !== number || this.#toBegin !== number)
      throw new OddFrame('it begins what nobody gave to it');
    this.#toBegin = 0;
    work.begin(this.progress);
  }

  #onAsk(number: number, text: string): void {
    const [work] = this.open;
    const call = work?.calls[0];
    if (work === undefined || call === undefined || this.#first !== number || this.#asks)
      throw new OddFrame('nothing runs that could ask');
    const question = nestedQuestionOf(text, call.depth, Math.max(0, work.deadline - this.#context.clock.now()));
    this.#asks = true;
    this.#context.events.onAsk(this, work, question);
  }

  #onLog(slot: number, text: string): void {
    if (slot === 0 || slot > this.#highestSlot) throw new OddFrame('what has no code logs');
    if (++this.#logLines > MOST_LOG_LINES) throw new OddFrame('it logs more lines than a sandbox lets through');
    const { level, line } = logLineOf(text);
    const [work] = this.open;
    const endpoint = work?.endpoint.slot === slot ? work.endpoint : this.#known.get(slot);
    endpoint?.parts.log(level, line);
  }
}

/** A sandbox that is ready begins soon, or it has no core. */
function latestBegin({ calls, endpoint }: Work, now: number, { starvedMs }: Policy): number {
  let latest = now + Math.min(starvedMs, endpoint.limit);
  for (const { beginBy } of calls) if (beginBy > latest) latest = beginBy;
  return latest;
}
