/** A worker process as the runtime sees it: its pipes, the calls it has, and how it ends. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, writeFile } from 'node:fs';
import type { Socket } from 'node:net';
import type { Failure } from '../worker/describe.ts';
import { frame, FrameReader } from '../../../src/engines/sandbox/frames.ts';
import { answers, kinds, maxBytesOf } from '../worker/messages.ts';
import { controlPipe, dataPipe } from '../worker/shared.ts';
import type { Call, Reason } from './call.ts';
import { logPrintedLines } from './printed-lines.ts';
import type { WorkerProgram } from './program.ts';

export interface WorkerOptions {
  readonly program: WorkerProgram;
  readonly memoryLimitMb: number;
  readonly outputLimit: number;
  readonly bodyLimit: number;
  readonly permissions: boolean;
  readonly workerEnvironment: Readonly<Record<string, string>>;
}

export interface WorkerEvents {
  /** A call was answered, or waits for another endpoint: there may be a free place. */
  freed(worker: WorkerProcess): void;
  /** The code calls another endpoint, for the open call of that number, if there is one. */
  nested(worker: WorkerProcess, number: number, callNumber: number, request: string): void;
  /** Every open call was failed before. `fault` says why, unless the end was wanted. */
  ended(worker: WorkerProcess, fault: string | undefined): void;
  printed(stream: 'stdout' | 'stderr', line: string): void;
}

/** What the process needs beside the heap: Node itself, the young generation, code. */
const memoryBesideHeapMb = 150;
const replyMs = 200;
/** Messages of a turn go together up to this size: a write costs more than a message. */
const maxBatchBytes = 1_000_000;

export class WorkerProcess {
  /** By number, in the order they were sent. */
  readonly open = new Map<number, Call>();
  /** Folders that its code may read. */
  readonly folders: ReadonlySet<string>;
  /** Endpoints that were loaded, by index. */
  readonly loaded = new Set<number>();
  lastHeard = performance.now();
  pingedAt = 0;
  idleSince = performance.now();
  /** Calls that wait for another endpoint and take no place meanwhile. */
  #waiting = 0;
  #last = 0;
  #out: Buffer[] = [];
  #outBytes = 0;
  #reason: string | undefined;
  #outOfMemory = false;
  #wanted = false;
  #ended = false;
  #onSealed: ((last: number) => void) | undefined;
  readonly #options: WorkerOptions;
  readonly #events: WorkerEvents;
  readonly #child: ChildProcess;
  readonly #data: Socket;
  readonly #control: Socket;

  constructor(folders: ReadonlySet<string>, cwd: string, options: WorkerOptions, events: WorkerEvents) {
    this.folders = folders;
    this.#options = options;
    this.#events = events;
    this.#child = spawn(process.execPath, arguments_(folders, options), {
      cwd,
      env: { NODE_ENV: 'production', ...options.workerEnvironment },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      detached: true,
    });
    this.#data = this.#child.stdio[dataPipe] as Socket;
    this.#control = this.#child.stdio[controlPipe] as Socket;
    this.#listen();
    // Where memory runs out, the kernel should end a knowledge object and nothing else.
    if (this.#child.pid) writeFile(`/proc/${this.#child.pid}/oom_score_adj`, '1000', () => undefined);
  }

  /** Undefined where it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Calls that take a place. */
  get active(): number {
    return this.open.size - this.#waiting;
  }

  /** False when it is ending or has ended, or has used up the numbers of calls, which the watchdog keeps in 30 bits. */
  get usable(): boolean {
    const { exitCode, signalCode } = this.#child;
    return this.#reason === undefined && exitCode === null && signalCode === null && this.#last < 0x3fff_fff0;
  }

  define(index: number, endpoint: { file: string; root: string; function: string }): void {
    this.#write(frame(kinds.endpoint, index, 0, JSON.stringify(endpoint)));
  }

  send(call: Call, index: number): void {
    const number = ++this.#last;
    if (this.open.size === 0) this.lastHeard = performance.now();
    this.open.set(number, call);
    this.loaded.add(index);
    const { kind, body, json } = call.input;
    this.#write(
      kind === 'load'
        ? frame(kinds.load, number, index, '')
        : frame(kinds.call, number, index * 2 + (json ? 1 : 0), body),
    );
  }

  /** Answers a nested call. */
  reply(number: number, callNumber: number, status: number, body: string): void {
    const call = this.open.get(callNumber);
    if (call && (call.nested -= 1) === 0) this.#waiting -= 1;
    this.#write(frame(kinds.reply, number, status, body));
  }

  ping(): void {
    this.pingedAt = performance.now();
    this.#write(frame(kinds.ping, 0, 0, ''));
  }

  /** From here on no call begins. @returns the number of the last that did; undefined where that cannot be known. */
  async seal(): Promise<number | undefined> {
    const reply = new Promise<number>((resolve) => (this.#onSealed = resolve));
    this.#control.write('s');
    return Promise.race([reply, new Promise<undefined>((resolve) => setTimeout(resolve, replyMs, undefined))]);
  }

  /** Takes back the calls that have not begun, in their order. */
  takeBack(lastBegun: number): Call[] {
    const calls = [...this.open].filter(([number, call]) => number > lastBegun && !call.answered);
    for (const [number] of calls) this.open.delete(number);
    return calls.map(([, call]) => call);
  }

  /** Ends it where it is not needed any more. */
  stop(): void {
    this.#wanted = true;
    this.kill('The process of the knowledge object was stopped');
  }

  /** @param reason what the calls in it are told. */
  kill(reason: string): void {
    this.#reason ??= reason;
    if (!this.#child.pid || this.#ended) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      this.#child.kill('SIGKILL');
    }
  }

  /** Whether V8 counts it or not. */
  usesTooMuchMemory(): boolean {
    try {
      const status = readFileSync(`/proc/${this.#child.pid}/status`, 'latin1');
      const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
      return kilobytes > (this.#options.memoryLimitMb + memoryBesideHeapMb) * 1024;
    } catch {
      // Just ended, or a system without /proc: the limit of the heap is left.
      return false;
    }
  }

  memoryReason(): string {
    return `The knowledge object passed its memory limit of ${this.#options.memoryLimitMb} MB`;
  }

  #write(message: Buffer): void {
    if (this.#outBytes > 0 && this.#outBytes + message.length > maxBatchBytes) this.#flush();
    if (this.#outBytes === 0) setImmediate(() => this.#flush());
    this.#out.push(message);
    this.#outBytes += message.length;
  }

  #flush(): void {
    const [first, ...others] = this.#out;
    if (first === undefined) return;
    const out = others.length === 0 ? first : Buffer.concat(this.#out, this.#outBytes);
    this.#out = [];
    this.#outBytes = 0;
    if (this.#data.writable) this.#data.write(out);
  }

  #listen(): void {
    const { outputLimit, bodyLimit } = this.#options;
    const largest = outputLimit + 2 * bodyLimit + 1_000_000;
    for (const pipe of [this.#data, this.#control]) {
      const reader = new FrameReader(
        (kind, a, b, body) => this.#take(kind, a, b, body),
        (kind) => maxBytesOf(kind, largest),
      );
      pipe
        .on('error', () => undefined)
        .on('data', (chunk: Buffer) => {
          if (this.#ended) return;
          if (pipe === this.#data) this.lastHeard = performance.now();
          try {
            reader.push(chunk);
          } catch {
            this.kill('The knowledge object wrote to the pipe of its own process');
          }
        });
    }
    const { stdout, stderr } = this.#child;
    if (stdout) logPrintedLines(stdout, (line) => this.#events.printed('stdout', line));
    if (stderr) {
      stderr.on('data', (chunk: Buffer) => (this.#outOfMemory ||= chunk.includes('JavaScript heap out of memory')));
      logPrintedLines(stderr, (line) => this.#events.printed('stderr', line));
    }
    this.#child.once('error', () => this.#end('The process of the knowledge object could not be started'));
    this.#child.once('exit', (code, signal) => {
      const how = `The process of the knowledge object ended unexpectedly (${signal ?? `exit code ${code}`})`;
      // What it wrote last is still in the pipes; a process that it left behind may hold them open.
      const end = (): void => this.#end(this.#outOfMemory ? this.memoryReason() : how);
      this.#child.once('close', end);
      setTimeout(end, replyMs);
    });
  }

  #take(kind: number, a: number, b: number, body: string): void {
    if (kind === kinds.answer) {
      const call = this.open.get(a);
      if (!call) return;
      const failure = b === answers.result ? undefined : reasonOf(b, JSON.parse(body) as Failure);
      this.open.delete(a);
      if (call.nested > 0) this.#waiting -= 1;
      if (this.open.size === 0) this.idleSince = this.lastHeard;
      call.settle(failure ? { ok: false, ...failure } : { ok: true, result: body });
      this.#events.freed(this);
    } else if (kind === kinds.nested) {
      const call = this.open.get(b);
      if (call && (call.nested += 1) === 1) this.#waiting += 1;
      this.#events.nested(this, a, b, body);
      this.#events.freed(this);
    } else if (kind === kinds.sealed) this.#onSealed?.(a);
    else if (kind === kinds.fatal)
      this.#reason ??= `${body} (it was not caught and ended the process of the knowledge object)`;
  }

  #end(how: string): void {
    if (this.#ended) return;
    this.#ended = true;
    const reason = this.#reason ?? how;
    for (const call of this.open.values()) call.fail(500, reason);
    this.open.clear();
    this.#data.destroy();
    this.#control.destroy();
    this.#events.ended(this, this.#wanted ? undefined : reason);
  }
}

/** The protocol: "the existing node runtime reports an exception of the KO as 400"; what is invalid input has a title. */
function reasonOf(kind: number, { description, status, place }: Failure): Reason {
  const reason = { description: String(description), ...(place && { place }) };
  if (kind === answers.invalid && status !== undefined) return { ...reason, status, title: 'Invalid Input' };
  return { ...reason, status: kind === answers.thrown ? 400 : 500 };
}

function arguments_(folders: ReadonlySet<string>, options: WorkerOptions): string[] {
  const permissions = options.permissions
    ? [
        '--permission',
        '--allow-worker',
        // Both write files past the permission model, which does not know of them. Frozen flags end the process of who
        // changes one, should there be a way beside those that `worker/restrict.ts` closes.
        '--no-experimental-sqlite',
        '--freeze-flags-after-init',
        ...[options.program.folder, ...folders].map((folder) => `--allow-fs-read=${folder}/`),
      ]
    : [];
  return [
    ...permissions,
    '--disable-warning=PERM0006',
    '--disable-sigusr1',
    `--max-old-space-size=${options.memoryLimitMb}`,
    options.program.main,
    String(options.outputLimit),
  ];
}
