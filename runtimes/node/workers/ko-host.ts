/**
 * One version of a knowledge object: its endpoints, the worker process that runs them, the calls that wait.
 * A call that passes its limit takes its worker out of use. Calls that had begun there go on as long as its event
 * loop is alive; calls that had not are sent to a new worker.
 */
import { isAbsolute, relative } from 'node:path';
import { overloaded, seconds } from '../lib/errors.ts';
import type { Call } from './call.ts';
import type { NestedCalls } from './nested-calls.ts';
import { WorkerProcess, type WorkerOptions } from './worker-process.ts';

export interface HostOptions extends WorkerOptions {
  readonly concurrency: number;
  readonly queue: number;
}

export interface EndpointCode {
  readonly uri: string;
  /** Entry module, absolute. */
  readonly file: string;
  /** Folder of the knowledge object, absolute. */
  readonly root: string;
  readonly function: string;
  /** Folders that the code may read. */
  readonly folders: readonly string[];
}

/** Where the log hears of a knowledge object. */
export interface KoLog {
  printed(stream: 'stdout' | 'stderr', line: string): void;
  /** Its process ended unwanted. */
  failed(reason: string): void;
}

/** A worker in use beside the current one, with a call that keeps it busy; more than this wait for their limits. */
const maxLeftBehind = 1;
const aliveMs = 500;
const blockedMs = 1_000;

export class KoHost {
  /** `<naan>/<name>/<version>`, for the log. */
  readonly ko: string;
  readonly #options: HostOptions;
  readonly #nested: NestedCalls;
  readonly #log: KoLog;
  readonly #endpoints = new Map<string, { readonly index: number; readonly code: EndpointCode }>();
  #queue: Call[] = [];
  #current: WorkerProcess | undefined;
  readonly #retired = new Set<WorkerProcess>();
  #closing = false;
  #onClosed: (() => void) | undefined;

  constructor(ko: string, options: HostOptions, nested: NestedCalls, log: KoLog) {
    this.ko = ko;
    this.#options = options;
    this.#nested = nested;
    this.#log = log;
  }

  get workers(): readonly WorkerProcess[] {
    return this.#current ? [this.#current, ...this.#retired] : [...this.#retired];
  }

  /** The worker that may be stopped because it has nothing to do. */
  get idleWorker(): WorkerProcess | undefined {
    return this.#current?.open.size === 0 ? this.#current : undefined;
  }

  /** Adds an endpoint or puts it anew, so that its next load starts from its files. */
  define(code: EndpointCode): void {
    const index = this.#endpoints.get(code.uri)?.index ?? this.#endpoints.size;
    this.#endpoints.set(code.uri, { index, code });
    const worker = this.#current;
    if (!worker) return;
    const readable = code.folders.every((folder) => worker.folders.has(folder));
    if (readable && worker.open.size === 0 && !worker.loaded.has(index)) worker.define(index, code);
    else void this.#retire(worker);
  }

  submit(call: Call): void {
    if (this.#queue.length >= this.#options.queue && !this.#hasPlace()) {
      const { code, message } = overloaded(`${this.ko} has ${this.#queue.length} calls waiting already`);
      call.fail(code, message);
      return;
    }
    call.onDeadline(() => this.#expire(call));
    if (this.#queue.length === 0 && this.#hasPlace()) this.#dispatch(call);
    else this.#queue.push(call);
  }

  /** Lets the open calls end, then the processes. */
  close(): Promise<void> {
    this.#closing = true;
    return new Promise((resolve) => {
      this.#onClosed = resolve;
      this.#settleClosing();
    });
  }

  kill(): void {
    this.#closing = true;
    for (const call of this.#queue.splice(0)) call.fail(503, 'The runtime is stopping');
    for (const worker of this.workers) worker.kill('The runtime is stopping');
  }

  /** Called several times a second: a worker that a call keeps busy is left to that call. */
  checkBlocked(now: number): void {
    const worker = this.#current;
    if (!worker || worker.open.size < 2 || now - worker.lastHeard < blockedMs) return;
    if (worker.pingedAt <= worker.lastHeard) worker.ping();
    else if (now - worker.pingedAt > aliveMs && this.#retired.size < maxLeftBehind) void this.#retire(worker);
  }

  /** Ends the worker that has nothing to do; the next call starts another. */
  stopIdle(): void {
    if (this.idleWorker) void this.#retire(this.idleWorker);
  }

  /** Ends what uses more memory than it may. */
  checkMemory(): void {
    for (const worker of this.workers) {
      if (worker.usesTooMuchMemory()) void this.#retire(worker).then(() => worker.kill(worker.memoryReason()));
    }
  }

  #hasPlace(): boolean {
    return (this.#current?.active ?? 0) < this.#options.concurrency;
  }

  #pump(): void {
    while (this.#queue.length > 0 && this.#hasPlace()) {
      const call = this.#queue.shift();
      if (call && !call.answered) this.#dispatch(call);
    }
  }

  #dispatch(call: Call): void {
    const endpoint = this.#endpoints.get(call.input.uri);
    if (!endpoint) {
      call.fail(404, `No endpoint ${call.input.uri} is active in this runtime`);
      return;
    }
    if (this.#current && !this.#current.usable) void this.#retire(this.#current);
    this.#current ??= this.#start();
    this.#current.send(call, endpoint.index);
  }

  #start(): WorkerProcess {
    const codes = [...this.#endpoints.values()];
    const folders = new Set(codes.flatMap(({ code }) => code.folders));
    const worker = new WorkerProcess(folders, codes[0]?.code.root ?? '/', this.#options, {
      freed: (freed) => this.#freed(freed),
      nested: (from, number, callNumber, request) => void this.#callOther(from, number, callNumber, request),
      ended: (ended, fault) => this.#ended(ended, fault),
      printed: (stream, line) => this.#log.printed(stream, this.withoutHostPaths(line)),
    });
    for (const { index, code } of codes) worker.define(index, code);
    return worker;
  }

  #freed(worker: WorkerProcess): void {
    if (this.#retired.has(worker)) this.#endIfDone(worker);
    else this.#pump();
    this.#settleClosing();
  }

  #ended(worker: WorkerProcess, fault: string | undefined): void {
    if (fault !== undefined) this.#log.failed(this.withoutHostPaths(fault));
    if (this.#current === worker) this.#current = undefined;
    this.#retired.delete(worker);
    this.#pump();
    this.#settleClosing();
  }

  #expire(call: Call): void {
    const limit = seconds(call.input.limit);
    const waiting = this.#queue.indexOf(call);
    if (waiting >= 0) {
      this.#queue.splice(waiting, 1);
      call.fail(503, `${this.ko} was busy for the ${limit} that the call could wait`);
      return;
    }
    const what = call.input.kind === 'load' ? 'Loading the knowledge object' : 'The call';
    call.fail(500, `${what} passed its time limit of ${limit}`);
    const worker = this.workers.find((one) => [...one.open.values()].includes(call));
    if (worker) void this.#retire(worker).then(() => this.#endIfBlocked(worker));
  }

  async #retire(worker: WorkerProcess): Promise<void> {
    if (this.#retired.has(worker)) return;
    this.#retired.add(worker);
    if (this.#current === worker) this.#current = undefined;
    if (worker.open.size > 0) {
      const lastBegun = await worker.seal();
      if (lastBegun !== undefined) this.#queue.unshift(...worker.takeBack(lastBegun));
    }
    this.#endIfDone(worker);
    this.#pump();
  }

  #endIfDone(worker: WorkerProcess): void {
    for (const call of worker.open.values()) if (!call.answered) return;
    worker.stop();
  }

  async #endIfBlocked(worker: WorkerProcess): Promise<void> {
    worker.ping();
    await new Promise((resolve) => setTimeout(resolve, aliveMs));
    if (worker.lastHeard >= worker.pingedAt) this.#endIfDone(worker);
    else worker.kill('The call was in one process with another that passed its time limit and kept it busy');
  }

  async #callOther(worker: WorkerProcess, number: number, callNumber: number, request: string): Promise<void> {
    const { status, body } = await this.#nested.perform(worker.open.get(callNumber), request);
    worker.reply(number, callNumber, status, body);
  }

  #settleClosing(): void {
    if (!this.#closing || this.#queue.length > 0) return;
    for (const worker of this.workers) this.#endIfDone(worker);
    if (this.workers.length === 0) this.#onClosed?.();
  }

  /** A host path inside the knowledge object's folders becomes a path of the knowledge object. */
  withoutHostPaths(text: string): string {
    let clean = text;
    for (const { code } of this.#endpoints.values()) {
      const folders = [code.root, ...code.folders].filter(isAbsolute);
      for (const folder of folders) clean = clean.replaceAll(`file://${folder}/`, '').replaceAll(`${folder}/`, '');
      clean = clean.replaceAll(code.file, relative(code.root, code.file));
    }
    return clean;
  }
}
