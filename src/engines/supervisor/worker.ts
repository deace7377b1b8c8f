/** A worker process as its supervisor sees it: its sockets, the work it has, and how it ends. */
import type { Readable } from 'node:stream';
import type { Clock } from './clock.ts';
import { KILLED_FOR_MEMORY } from './memory-kills.ts';
import { frame, OddFrame } from './frames.ts';
import type { ProcessEvents, SandboxProcess } from './process.ts';
import { CallFailure, uncaught } from './call-failure.ts';
import { failureOf, mostBytesOfWorker, recordLinesOf } from './from-program.ts';
import type { ProgramFailure } from './from-program.ts';
import { answers, kinds, MAX_MESSAGE_CHARACTERS } from './messages.ts';
import type { WorkerPolicy } from './worker-policy.ts';
import { residentBytes } from './worker-policy.ts';
import { isOfLauncher } from '../../confinement/launch.ts';
import { OpenWork } from './open-work.ts';
import { OutgoingFrames } from './outgoing-frames.ts';
import { logPrintedLines } from './printed-lines.ts';
import type { Reply } from './questions.ts';
import { fail, hasEnded, settle } from './settle-work.ts';
import type { WorkerEndpoint, WorkerWork } from './worker-call.ts';
import type { WorkerProgram } from './adapter.ts';

/** A process with two sockets, as a worker needs it. */
export type WorkerProcess = Pick<SandboxProcess, 'pid' | 'alive' | 'write' | 'kill' | 'memory' | 'lowerPriority'>;

export interface WorkerOptions {
  readonly program: WorkerProgram;
  /** Bytes of an input, and of a result. */
  readonly bodyLimit: number;
  readonly outputLimit: number;
  readonly clock: Clock;
  readonly policy: WorkerPolicy;
}

/** Why a worker ended. */
export interface WorkerFault {
  readonly kind: 'memory' | 'ended';
  readonly why: string;
}

export interface WorkerEvents {
  /** A call was answered, or waits for another endpoint: there may be a free place. */
  freed(worker: Worker): void;
  /** The code asks something for the work of that number, if that is open. */
  asked(worker: Worker, number: number, callNumber: number, question: string): void;
  /** It should get no more calls. */
  spent(worker: Worker): void;
  /** It has said what it began, at any time after it was sealed: `unbegun` is the work that it will never begin. */
  gaveBack(worker: Worker, unbegun: readonly WorkerWork[]): void;
  /** `unbegun`: open work that had not begun; what had was failed before. `fault` says why, unless the end was wanted. */
  ended(worker: Worker, unbegun: readonly WorkerWork[], fault: WorkerFault | undefined): void;
  /** The process ended before its program was ready: nothing of its work has begun. */
  notStarted(worker: Worker, works: readonly WorkerWork[], reason: string): void;
  printed(stream: 'stdout' | 'stderr', line: string): void;
  /** What the code says, without the paths of this machine. */
  clean(text: string): string;
}

const NO_MEMORY_LEFT = 'The kernel ended the process of the knowledge object, since no memory was left';

export class Worker {
  /** By number, in the order they were sent; also those that were failed meanwhile and whose code runs on. */
  readonly open = new OpenWork();
  /** Folders that its code may read. */
  readonly folders: ReadonlySet<string>;
  /** Endpoints that were loaded, by index. */
  readonly loaded = new Set<number>();
  lastHeard: number;
  pingedAt = 0;
  idleSince: number;
  /** Calls that wait for another endpoint and take no place meanwhile. */
  #waiting = 0;
  #last = 0;
  #reason: string | undefined;
  #outOfMemory = false;
  #wanted = false;
  #isReady = false;
  #hasBegun = false;
  #ended = false;
  #onSealed: (() => void) | undefined;
  readonly #options: WorkerOptions;
  readonly #events: WorkerEvents;
  readonly #process: WorkerProcess;
  readonly #out: OutgoingFrames;

  constructor(
    start: (events: ProcessEvents) => WorkerProcess,
    folders: ReadonlySet<string>,
    options: WorkerOptions,
    events: WorkerEvents,
  ) {
    this.folders = folders;
    this.#options = options;
    this.#events = events;
    this.lastHeard = this.idleSince = options.clock.now();
    const largest = options.outputLimit + 2 * options.bodyLimit + options.policy.besideBodyBytes;
    this.#process = start({
      onFrame: (kind, a, b, text) => this.#take(kind, a, b, text),
      mostOf: (kind) => mostBytesOfWorker(kind, largest),
      onExit: (reason, begun) => this.#onExit(reason, begun),
      onOdd: (what) => {
        const did = what.startsWith('it sent') ? 'wrote to' : 'closed';
        this.#reason ??= `The knowledge object ${did} the pipe of its own process`;
      },
      onOutput: (name, stream) => this.#read(name, stream),
    });
    this.#out = new OutgoingFrames((bytes) => void this.#process.write(bytes), options);
  }

  /** Undefined where it could not be started. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Some of its work was answered, or failed by its end. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Calls that take a place. */
  get active(): number {
    return this.open.size - this.#waiting;
  }

  /** Calls of clients that it has, also those that wait for another endpoint. */
  get outer(): number {
    let sum = 0;
    for (const { work } of this.open) if (work.calls[0]?.depth === 0) sum++;
    return sum;
  }

  /** False when it is ending or has ended, or has used up the numbers of calls. */
  get usable(): boolean {
    return this.#reason === undefined && this.#process.alive && this.#last < this.#options.policy.mostCalls;
  }

  lowerPriority(): void {
    this.#process.lowerPriority(this.#options.policy.recordsPriority);
  }

  define({ index, code }: WorkerEndpoint): void {
    const { file, root, more } = code;
    this.#out.addUrgent(
      frame(kinds.define, index, 0, JSON.stringify({ file, root, function: code.function, ...more })),
    );
  }

  send(work: WorkerWork): void {
    const number = ++this.#last;
    const { index } = work.endpoint;
    if (this.open.size === 0) this.lastHeard = this.#options.clock.now();
    work.send();
    for (const { trace } of work.calls) trace?.span?.begins();
    this.loaded.add(index);
    const [call] = work.calls;
    this.open.add({ number, work, questions: 0, batch: call && this.#out.batch });
    if (call === undefined) return this.#out.addUrgent(frame(kinds.load, number, index * 2, ''));
    if (call.sink !== undefined)
      return this.#out.addCall(frame(kinds.records, number, index * 2, call.input, 'latin1'));
    this.#out.addCall(frame(kinds.call, number, index * 2 + (call.json ? 1 : 0), call.input));
  }

  /** Answers a question. */
  reply(number: number, callNumber: number, { status, body }: Reply): void {
    const open = this.open.get(callNumber);
    if (open && (open.questions -= 1) === 0) {
      this.#waiting -= 1;
      if (open.work.state === 'asking') open.work.hear();
    }
    this.#tell(frame(kinds.reply, number, status, body));
  }

  ping(): void {
    this.pingedAt = this.#options.clock.now();
    this.#tell(frame(kinds.ping, 0, 0, ''));
  }

  /**
   * From here on no call begins. Settles once the worker has said what began (see `gaveBack`), or after `sealMs`: one
   * that is busy or still starting says it later.
   */
  seal(): Promise<void> {
    return new Promise((resolve) => {
      this.#onSealed = resolve;
      this.#process.write(frame(kinds.sealed, 0, 0, ''), 'control');
      this.#options.clock.after(this.#options.policy.sealMs, resolve);
    });
  }

  /** Takes out the work that has not begun, in its order. */
  #takeBack(lastBegun: number): WorkerWork[] {
    // The code may have made up what it says of others: what has asked something has begun.
    const taken = [...this.open].filter(
      ({ number, work }) => number > lastBegun && work.state === 'sent' && !work.calledOut,
    );
    for (const each of taken) this.open.delete(each);
    return taken.map(({ work }) => work);
  }

  /** Ends it where it is not needed any more. */
  stop(): void {
    this.#wanted = true;
    this.kill('The process of the knowledge object was stopped');
  }

  /** `reason`: what the calls in it are told. */
  kill(reason: string): void {
    this.#reason ??= reason;
    this.#process.kill();
  }

  /** Resident bytes. */
  memory(): number {
    return this.#process.memory();
  }

  /** Whether what runs in it counts it or not. */
  usesTooMuchMemory(): boolean {
    const { memoryMb, besideMemoryMb } = this.#options.program;
    return this.memory() > residentBytes(memoryMb, besideMemoryMb);
  }

  memoryReason(): string {
    return `The knowledge object passed its memory limit of ${this.#options.program.memoryMb} MB`;
  }

  #tell(message: Buffer): void {
    if (this.#options.program.repliesBy === 'control') this.#process.write(message, 'control');
    else this.#out.addUrgent(message);
  }

  #read(name: 'stdout' | 'stderr', stream: Readable): void {
    const { program } = this.#options;
    if (name === 'stderr')
      stream.on('data', (chunk: Buffer) => (this.#outOfMemory ||= program.saysOutOfMemory?.(chunk) === true));
    logPrintedLines(stream, (line) => {
      if (this.#isReady || !isOfLauncher(line)) this.#events.printed(name, line);
    });
  }

  #take(kind: number, a: number, b: number, body: string): void {
    this.lastHeard = this.#options.clock.now();
    this.#isReady = true;
    if (kind === kinds.answer) this.#takeAnswer(a, b, body);
    else if (kind === kinds.lines) this.#takeLines(a, b > 0, body);
    else if (kind === kinds.ask) {
      const open = this.open.get(b);
      if (open && (open.questions += 1) === 1) {
        this.#waiting += 1;
        if (open.work.state === 'sent') open.work.ask();
      }
      this.#events.asked(this, a, b, body);
      this.#events.freed(this);
    } else if (kind === kinds.sealed) this.#takeSealed(a);
    else if (kind === kinds.fatal) this.#reason ??= uncaught(body.slice(0, MAX_MESSAGE_CHARACTERS));
  }

  #takeSealed(lastBegun: number): void {
    // The code may have made it up.
    if (this.#onSealed === undefined) return;
    this.#events.gaveBack(this, this.#takeBack(lastBegun));
    this.#onSealed();
  }

  #takeAnswer(number: number, kind: number, body: string): void {
    const isOfRecords = this.open.get(number)?.work.calls[0]?.sink !== undefined;
    if (isOfRecords && kind === answers.result) throw new OddFrame('records are answered by lines');
    this.#answer(number, kind, body);
  }

  #answer(number: number, kind: number, body: string): void {
    const open = this.open.get(number);
    if (!open) return;
    const failure = kind === answers.result ? undefined : this.#failureOf(failureOf(kind, body));
    this.open.delete(open);
    this.#hasBegun = true;
    if (open.batch) this.#out.answered(open.batch);
    if (open.questions > 0) this.#waiting -= 1;
    if (this.open.size === 0) this.idleSince = this.lastHeard;
    settle(open.work, failure ?? body);
    if (failure?.retires === true) this.#events.spent(this);
    this.#events.freed(this);
  }

  #takeLines(number: number, areLast: boolean, text: string): void {
    const open = this.open.get(number);
    if (!open || hasEnded(open.work)) return;
    const [call] = open.work.calls;
    if (call?.sink === undefined) throw new OddFrame('nobody asked for answers to records');
    const parts = recordLinesOf(text, 0, call.left, true).map((part) =>
      'lines' in part ? part : this.#failureOf(part),
    );
    for (const part of parts) call.left -= part instanceof Error ? 1 : part.count;
    call.sink.take(parts);
    if (areLast && call.left > 0) throw new OddFrame('records have no answers');
    if (areLast) this.#answer(number, answers.result, '');
    if (parts.some((part) => part instanceof CallFailure && part.retires)) this.#events.spent(this);
  }

  #failureOf({ kind, description, status, place, retire }: ProgramFailure): CallFailure {
    const said = this.#events.clean(description).slice(0, MAX_MESSAGE_CHARACTERS);
    return new CallFailure(kind, said, {
      ...(status !== undefined && { status }),
      ...(place && { place }),
      retires: retire === true,
    });
  }

  /** `begun`: where it is not known, all may have begun. */
  #onExit(reason: string, begun = Infinity): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#reason === undefined && !this.#isReady) {
      const works = [...this.open].map(({ work }) => work);
      this.open.clear();
      return this.#events.notStarted(this, works, reason);
    }
    const unbegun = this.#takeBack(begun);
    const [how = ''] = reason.split(':', 1);
    const unexpected = `The process of the knowledge object ended unexpectedly (${how})`;
    const forMemory = this.#outOfMemory
      ? this.memoryReason()
      : reason.includes(KILLED_FOR_MEMORY)
        ? NO_MEMORY_LEFT
        : undefined;
    const reached = this.#reason ?? forMemory ?? unexpected;
    const why = this.#events.clean(reached);
    const works = [...this.open].map(({ work }) => work);
    this.open.clear();
    if (works.length > 0) this.#hasBegun = true;
    const kind = reached === forMemory || reached === this.memoryReason() ? 'memory' : 'ended';
    const failure = new CallFailure(kind, why, { isOfOthers: works.length > 1 });
    for (const work of works) fail(work, failure);
    this.#events.ended(this, unbegun, this.#wanted ? undefined : { kind, why });
  }
}
