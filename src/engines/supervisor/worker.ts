/** One process with the work that it has: carries work to it and tells what comes of that. It decides nothing. */
import type { Readable } from 'node:stream';
import { isOfLauncher } from '../../confinement/launch.ts';
import { ProtocolError, frame } from './frames.ts';
import { failureOf, linesOf, logLineOf, mostBytesOfSandbox, mostBytesOfWorker, recordLinesOf } from './from-program.ts';
import type { ProgramFailure } from './from-program.ts';
import { answers, kinds } from './messages.ts';
import { OutgoingFrames } from './outgoing-frames.ts';
import type { Policy } from './policy.ts';
import { logPrintedLines } from './printed-lines.ts';
import { diesWithActivator } from './process.ts';
import type { Sandbox } from './process.ts';
import type { Reply } from './questions.ts';
import type { Code, Work } from './work.ts';
import type { Beside, Open, WorkerContext } from './worker-context.ts';

/** Endpoints whose code an isolates' process has: about 3 MB each when used. */
const MOST_ISOLATES = 300;
/** Lines between two answers; a sandbox lets 100 through, and as many while it loads code. */
const MOST_LOG_LINES = 200;

export class Worker {
  readonly process: Sandbox;
  /**
   * In the order in which it was sent. No `Map`: the tables of one that is used like this keep each other in memory, with
   * all that was in them, until all of it is collected.
   */
  readonly open: Open[] = [];
  /** Milliseconds of the clock of the last sign of life, of the last answer with nothing behind it, and of the last ping. */
  lastHeard: number;
  idleSince: number;
  pingedAt = 0;
  readonly startedAt: number;
  ready = false;
  /** Something that it was given was answered, or failed by its end. */
  hasBegun = false;
  /** Why it is ended, for the calls in it. */
  reason: string | undefined;
  /** It printed that its memory is full. */
  isOutOfMemory = false;
  /** Its code waits for a reply; calls that run one after the other wait with it. */
  asks = false;
  readonly #context: WorkerContext;
  readonly #out: OutgoingFrames | undefined;
  /** The code that its program has, by index, in the order of the last use. */
  readonly #known = new Map<number, Code>();
  #highestIndex = 0;
  /** Number of the last work that it was given. */
  #last = 0;
  /** Signs of life that it owes: the one that it is there, and one for each endpoint that it was given. */
  #signs = 1;
  /** Number of the work of which it is to say that it begins; 0 for none. */
  #toBegin = 0;
  #logLines = 0;
  /** Calls that wait for an answer from outside, and take no place meanwhile. */
  #waiting = 0;
  #isEnded = false;
  #priority = 0;
  /** Milliseconds of processor time that it had used when it was first found silent. */
  #workAtSuspicion: number | undefined;
  #onDrained: (() => void) | undefined;

  constructor(context: WorkerContext) {
    this.#context = context;
    const { clock, beside } = context;
    this.startedAt = this.lastHeard = this.idleSince = clock.now();
    this.process = context.start({
      onFrame: (kind, a, b, text) => this.#onFrame(kind, a, b, text),
      mostOf: (kind) =>
        beside === undefined
          ? mostBytesOfSandbox(kind, this.first?.size ?? 0, this.first?.endpoint.parts.maxResult ?? 0)
          : mostBytesOfWorker(kind, beside.maxFrameBytes),
      onExit: (reason, begun) => this.#onExit(reason, begun),
      ...(beside !== undefined && {
        onOdd: (what: string) => {
          const did = what.startsWith('it sent') ? 'wrote to' : 'closed';
          this.reason ??= `The knowledge object ${did} the pipe of its own process`;
        },
        onOutput: (name: 'stdout' | 'stderr', stream: Readable) => this.#read(beside, name, stream),
      }),
    });
    const { process } = this;
    if (beside !== undefined)
      this.#out = new OutgoingFrames((bytes) => process.write(bytes), { clock, policy: beside.figures });
  }

  // ----- what it has -----

  /** What runs, where calls run one after the other. */
  get first(): Work | undefined {
    return this.open[0]?.work;
  }

  /** True where all that it was given has an answer. */
  get isDone(): boolean {
    return this.open.every(({ work }) => work.hasEnded);
  }

  /** It may be given further work at all. */
  get isUsable(): boolean {
    const { beside } = this.#context;
    return this.process.alive && this.reason === undefined && this.#last < (beside?.figures.mostCalls ?? Infinity);
  }

  /** It may be given further work now. */
  get hasPlace(): boolean {
    const { beside, policy } = this.#context;
    if (!this.isUsable) return false;
    if (beside !== undefined) return this.open.length - this.#waiting < beside.callsAtOnce;
    return this.ready && this.backlog < policy.backlogMicroseconds;
  }

  /** Calls of clients keep all its threads, also those that wait for another endpoint. */
  get takesNestedOnly(): boolean {
    const { beside } = this.#context;
    if (beside?.keepsThreads !== true) return false;
    let outer = 0;
    for (const { work } of this.open) if (work.calls[0]?.depth === 0) outer++;
    return outer >= beside.callsAtOnce;
  }

  /** Its code waits for an answer from outside, and uses no core meanwhile. */
  get isWaiting(): boolean {
    return this.first?.state === 'asking';
  }

  /** A call is among its work, running or waiting. */
  get holdsUpCalls(): boolean {
    return this.open.some(({ work }) => work.kind !== 'load');
  }

  /** Microseconds until all its work is done, by what is expected of it. */
  get backlog(): number {
    let sum = 0;
    for (const { work } of this.open) sum += work.size * work.endpoint.pace;
    return sum;
  }

  /** Endpoints whose code it has. */
  get isolates(): number {
    return this.#known.size;
  }

  has(index: number): boolean {
    return this.#known.has(index);
  }

  /** True when its program has the code; marks it as known, since the caller sends it now. */
  knows(code: Code): boolean {
    const known = this.#known.delete(code.index);
    this.#known.set(code.index, code);
    if (code.index > this.#highestIndex) this.#highestIndex = code.index;
    const [oldest] = this.#known.values();
    if (this.#context.beside === undefined && this.#known.size > MOST_ISOLATES && oldest !== undefined)
      this.forget(oldest);
    return known;
  }

  forget(code: Code): void {
    if (this.#known.delete(code.index)) this.process.send(kinds.drop, code.index, 0, '');
  }

  // ----- what is done with it -----

  /**
   * `guard`: the program itself ends the code at its limit, which costs a little and saves the process. Such work runs
   * alone, and its time begins when the program says that it has begun, however late it comes to a core.
   */
  send(work: Work, guard = false): void {
    const now = this.#context.clock.now();
    const number = ++this.#last;
    work.send();
    if (this.open.length === 0) this.lastHeard = now;
    const out = this.#out;
    if (out === undefined) this.#sendInTurn(work, number, guard, now);
    else this.#sendBeside(work, number, out);
  }

  /** Answers what code asks, where calls run one after the other. */
  reply(text: string): void {
    this.asks = false;
    this.process.send(kinds.reply, 0, 0, text);
  }

  /** … and where they run beside each other. */
  replyTo(open: Open | undefined, number: number, { status, body }: Reply): void {
    if (open !== undefined && this.open.includes(open) && (open.questions -= 1) === 0) {
      this.#waiting -= 1;
      if (open.work.state === 'asking') open.work.hear();
    }
    this.#tell(frame(kinds.reply, number, status, body));
  }

  ping(): void {
    this.pingedAt = this.#context.clock.now();
    this.#tell(frame(kinds.ping, 0, 0, ''));
  }

  /**
   * From here on no call begins. Settles once the worker has said what began (see `onDrained`), or after `drainMs`: one that
   * is busy or still starting says it later.
   */
  drain(): Promise<void> {
    const { clock, beside } = this.#context;
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      this.process.write(frame(kinds.drain, 0, 0, ''), 'control');
      clock.after(beside?.figures.drainMs ?? 0, resolve);
    });
  }

  /** Takes out the work that has not begun, in its order. `lastBegun`: number of the last that has. */
  takeUnbegun(lastBegun = this.open[0]?.number ?? 0): Work[] {
    // The code may have made up what it says of others: what has asked something has begun.
    const isUnbegun = ({ number, work }: Open): boolean =>
      number > lastBegun && work.state === 'sent' && !work.calledOut;
    const taken = this.open.filter(isUnbegun);
    for (const each of taken) this.#remove(each);
    return taken.map(({ work }) => work);
  }

  /** Ends the process; nobody is told. */
  end(): void {
    this.#isEnded = true;
    this.process.kill();
  }

  /** `reason`: what the calls in it are told. */
  kill(reason: string): void {
    this.reason ??= reason;
    this.process.kill();
  }

  /** Takes a later place on the machine's cores, once it has come up. */
  lowerPriority(places: number): void {
    this.#priority = places;
    if (this.ready) this.process.lowerPriority(places);
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

  // ----- what it is sent -----

  #sendInTurn(work: Work, number: number, guard: boolean, now: number): void {
    const { calls, code } = work;
    this.open.push({ number, work, questions: 0, batch: undefined });
    if (this.open.length === 1) {
      if (guard) work.awaitTurn(latestBegin(work, now, this.#context.policy));
      else work.begin(now);
    }
    if (guard) this.#toBegin = number;
    const first = calls[0];
    if (first === undefined) return this.#load(number, code, guard);
    const wasBrought = this.#bring(code, guard ? number : 0);
    const says = guard && !wasBrought ? 1 : 0;
    const left = Math.max(1, work.endIfBegunAt(now) - now);
    const head = `${first.depth},${left},${guard || !diesWithActivator ? 1 : 0}\n`;
    if (first.records !== undefined)
      return this.process.send(kinds.records, number, 2 * code.index + says, head + first.input, 'latin1');
    let inputs = first.input;
    for (let i = 1; i < calls.length; i++) inputs += '\0' + (calls[i]?.input ?? '');
    this.process.send(kinds.batch, number, 2 * code.index + says, head + inputs);
  }

  #sendBeside(work: Work, number: number, out: OutgoingFrames): void {
    const { calls, code } = work;
    for (const { trace } of calls) trace?.span?.begins();
    if (!this.#known.has(code.index)) {
      this.#known.set(code.index, code);
      out.addUrgent(frame(kinds.define, code.index, 0, code.text));
    }
    const [call] = calls;
    this.open.push({ number, work, questions: 0, batch: call && out.batch });
    const index = code.index * 2;
    if (call === undefined) out.addUrgent(frame(kinds.load, number, index, ''));
    else if (call.sink !== undefined) out.addCall(frame(kinds.records, number, index, call.input, 'latin1'));
    else out.addCall(frame(kinds.call, number, index + (call.isText ? 0 : 1), call.input));
  }

  /** True where it had to be sent. `number`: of the work for which it is sent, which begins with it; 0 where nobody asks. */
  #bring(code: Code, number: number): boolean {
    if (this.knows(code)) return false;
    this.#signs++;
    this.process.send(kinds.define, code.index, number, code.text);
    return true;
  }

  /** Without `guard` it finds out beside other code whether it can be loaded, which costs a fraction of loading it. */
  #load(number: number, code: Code, guard: boolean): void {
    if (guard) this.knows(code);
    else if (code.index > this.#highestIndex) this.#highestIndex = code.index;
    this.process.send(guard ? kinds.load : kinds.check, number, 2 * code.index + (guard ? 1 : 0), code.text);
  }

  #tell(message: Buffer): void {
    if (this.#context.beside?.repliesBy === 'control') this.process.write(message, 'control');
    else this.#out?.addUrgent(message);
  }

  // ----- what it says -----

  #read(beside: Beside, name: 'stdout' | 'stderr', stream: Readable): void {
    if (name === 'stderr') stream.on('data', (chunk: Buffer) => (this.isOutOfMemory ||= beside.saysOutOfMemory(chunk)));
    logPrintedLines(stream, (line) => {
      if (this.ready || !isOfLauncher(line)) beside.printed(name, line);
    });
  }

  /** @throws ProtocolError. */
  #onFrame(kind: number, a: number, b: number, text: string): void {
    const { events, clock, beside } = this.#context;
    // Where calls run one after the other, questions and log lines are no sign that the code will end.
    if (beside === undefined && kind === kinds.ask) return events.onAsk(this, this.#asking(b), a, text);
    if (kind === kinds.log) return this.#onLog(a, text);
    this.lastHeard = clock.now();
    this.#workAtSuspicion = undefined;
    if (kind === kinds.ping || beside !== undefined) this.#onSign(beside !== undefined);
    if (kind === kinds.begun) this.#onBegun(a);
    else if (kind === kinds.answer) this.#onAnswer(a, b, text);
    else if (kind === kinds.results) this.#onResults(a, b, text);
    else if (kind === kinds.lines) this.#onLines(a, b, text);
    else if (kind === kinds.ask) this.#onAskBeside(a, b, text);
    else if (kind === kinds.drain && this.#onDrained !== undefined) {
      events.onDrained(this, this.takeUnbegun(a));
      this.#onDrained();
    } else if (kind === kinds.fatal) this.reason ??= uncaught(text);
  }

  /** The work that is answered; undefined where it has gone. @throws ProtocolError when nobody asked for it. */
  #answered(number: number): Open | undefined {
    const open = this.open.find((each) => each.number === number);
    if (this.#context.beside === undefined && (open === undefined || open !== this.open[0] || this.asks))
      throw new ProtocolError('nobody asked for an answer');
    return open;
  }

  #onResults(number: number, microseconds: number, text: string): void {
    const open = this.#answered(number);
    if (open === undefined || open.work.kind === 'load' || open.work.calls[0]?.records !== undefined)
      throw new ProtocolError('an answer is of another kind');
    const lines = linesOf(text, open.work.calls.length);
    this.#close(open);
    this.#context.events.onDone(this, open.work, lines, microseconds);
  }

  /** `last`: the microseconds, or of a sink whether all have come. */
  #onLines(number: number, last: number, text: string): void {
    const { events, beside } = this.#context;
    const open = this.#answered(number);
    if (beside !== undefined && (open === undefined || open.work.hasEnded)) return;
    const [call] = open?.work.calls ?? [];
    if (open === undefined || (beside === undefined ? call?.records : call?.sink) === undefined)
      throw new ProtocolError('nobody asked for answers to records');
    const { work } = open;
    if (call?.sink === undefined) {
      const lines = recordLinesOf(text, work.size, work.size, false);
      this.#close(open);
      return events.onRecordsDone(this, work, lines, last);
    }
    const lines = recordLinesOf(text, 0, call.left, true);
    for (const line of lines) call.left -= 'lines' in line ? line.count : 1;
    events.onRecords(this, work, lines);
    if (lines.some((line) => 'retire' in line && line.retire === true)) events.onSpent(this);
    if (last === 0) return;
    if (call.left > 0) throw new ProtocolError('records have no answers');
    this.#close(open);
    events.onDone(this, work, [''], 0);
  }

  #onAnswer(number: number, answer: number, text: string): void {
    const { events, beside } = this.#context;
    const open = this.#answered(number);
    if (open === undefined) return;
    const { work } = open;
    const isWell = answer === answers.result && (beside !== undefined || text === '');
    if (isWell && beside === undefined && work.kind !== 'load') throw new ProtocolError('a call has no result');
    if (isWell && work.calls[0]?.sink !== undefined) throw new ProtocolError('records are answered by lines');
    const failure = isWell ? undefined : failureOf(answer, text);
    if (beside === undefined && (failure?.kind === 'unloaded' || (work.kind === 'load' && failure !== undefined)))
      this.#known.delete(work.code.index);
    const hadEnded = work.hasEnded;
    this.#close(open);
    if (hadEnded) events.onFreed(this);
    else if (work.kind === 'load')
      events.onLoaded(this, work, failure === undefined ? '' : problemOf(failure, beside !== undefined));
    else if (failure === undefined) events.onDone(this, work, [text], 0);
    else events.onFailed(this, work, failure);
    if (failure?.retire === true) events.onSpent(this);
  }

  /** It is answered; the next in line has its turn now. */
  #close(open: Open): void {
    this.#remove(open);
    this.hasBegun = true;
    if (open.batch !== undefined) this.#out?.answered(open.batch);
    if (open.work.state === 'asking') open.work.hear();
    this.#logLines = 0;
    if (this.open.length === 0) this.idleSince = this.lastHeard;
    if (this.#context.beside === undefined) this.first?.begin(this.lastHeard);
  }

  #remove(open: Open): void {
    const at = this.open.indexOf(open);
    if (at === 0) this.open.shift();
    else if (at > 0) this.open.splice(at, 1);
    if (open.questions > 0 && at >= 0) this.#waiting -= 1;
  }

  #onSign(isAnyFrame: boolean): void {
    if (!isAnyFrame && this.#signs-- <= 0) throw new ProtocolError('nobody asked whether it is alive');
    if (this.ready) return;
    this.ready = true;
    if (this.#priority > 0) this.process.lowerPriority(this.#priority);
    this.#context.events.onReady();
  }

  #onBegun(number: number): void {
    const [open] = this.open;
    if (open === undefined || open.number !== number || this.#toBegin !== number)
      throw new ProtocolError('it begins what nobody gave to it');
    this.#toBegin = 0;
    open.work.begin(this.lastHeard);
  }

  #asking(number: number): Open {
    const [open] = this.open;
    if (open === undefined || open.work.calls[0] === undefined || open.number !== number || this.asks)
      throw new ProtocolError('nothing runs that could ask');
    return open;
  }

  #onAskBeside(number: number, ofWork: number, text: string): void {
    const open = this.open.find((each) => each.number === ofWork);
    if (open !== undefined && (open.questions += 1) === 1) {
      this.#waiting += 1;
      if (open.work.state === 'sent') open.work.ask();
    }
    this.#context.events.onAsk(this, open, number, text);
  }

  #onLog(index: number, text: string): void {
    if (index === 0 || index > this.#highestIndex) throw new ProtocolError('what has no code logs');
    if (++this.#logLines > MOST_LOG_LINES) throw new ProtocolError('it logs more lines than a sandbox lets through');
    const { level, line } = logLineOf(text);
    const { first } = this;
    const endpoint = first?.code.index === index ? first.endpoint : this.#known.get(index);
    if (endpoint !== undefined && 'parts' in endpoint) (endpoint as Work['endpoint']).parts.log(level, line);
  }

  /** `begun`: number of the last that it began; where it is not known, all may have begun. */
  #onExit(reason: string, begun = Infinity): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const neverBegan = !this.ready && this.reason === undefined;
    const unbegun = this.takeUnbegun(
      neverBegan ? 0 : this.#context.beside === undefined ? this.open[0]?.number : begun,
    );
    const works = this.open.splice(0).map(({ work }) => work);
    if (works.length > 0) this.hasBegun = true;
    this.#context.events.onExit(this, works, unbegun, reason);
  }
}

/** Why an endpoint cannot be loaded. */
const problemOf = ({ kind, description }: ProgramFailure, isBeside: boolean): string =>
  isBeside || kind === 'unloaded' ? description : kind;

/** A worker that is ready begins soon, or it has no core. */
function latestBegin({ calls, endpoint }: Work, now: number, { starvedMs }: Policy): number {
  let latest = now + Math.min(starvedMs, endpoint.limit);
  for (const { beginBy } of calls) if (beginBy > latest) latest = beginBy;
  return latest;
}

const MAX_REASON_CHARACTERS = 4000;
const UNCAUGHT = ' (it was not caught and ended the process of the knowledge object)';
/** `description`: of an exception, as its process gave it. */
const uncaught = (description: string): string => description.slice(0, MAX_REASON_CHARACTERS) + UNCAUGHT;
/** For the log: what code says may be about its input. */
export const withoutUncaught = (reason: string): string =>
  reason.endsWith(UNCAUGHT) ? `an exception was not caught and ended the process of the knowledge object` : reason;
