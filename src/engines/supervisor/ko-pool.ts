/** One version of a knowledge object that has workers of its own: its endpoints, and the pool that runs them. */
import { dirname, isAbsolute, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Tally } from '../../lib/tally.ts';
import type { Network } from '../network/network.ts';
import { NO_NETWORK, type NetworkAccess } from '../network/access.ts';
import type { EndpointCode, WorkerHome, WorkerProgram } from './adapter.ts';
import { CallFailure, failed, hadNoTurn, isAbandoned, isStopping, queueIsFull } from './call-failure.ts';
import { WorkerLosses, type WorkerLoss } from './calls-beside.ts';
import type { Clock } from './clock.ts';
import { Endpoint, type Words } from './endpoint.ts';
import type { ProgramFailure } from './from-program.ts';
import { MAX_MESSAGE_CHARACTERS } from './messages.ts';
import { policyFor } from './policy.ts';
import { Pool } from './pool.ts';
import type { ProcessEvents, Sandbox } from './process.ts';
import type { Starts } from './starts.ts';
import type { CallParts, Code } from './work.ts';
import type { WorkerPolicy } from './worker-policy.ts';
import type { Worker } from './worker.ts';

export interface KoPoolOptions {
  readonly program: WorkerProgram;
  /** Bytes of an input, and of a result. */
  readonly bodyLimit: number;
  readonly outputLimit: number;
  /** Calls that run at the same time, and that wait. */
  readonly concurrency: number;
  readonly queue: number;
  /** Milliseconds that loading an endpoint may take. */
  readonly loadLimitMs: number;
  readonly clock: Clock;
  readonly policy: WorkerPolicy;
  readonly starts: Starts;
  /** Its workers come after all others on the cores. */
  readonly isBehindOthers: boolean;
  readonly network?: Pick<Network, 'open'>;
  /** `<naan>/<name>` of those whose code may start programs. */
  readonly processes?: readonly string[];
  /** … and may load native addons. */
  readonly addons?: readonly string[];
  /** Counts the workers that are lost. */
  readonly losses: Tally<WorkerLoss>;
  /** In which workers get folders of their own. */
  readonly scratch: string;
  /** Starts a worker in a scratch folder of its own. */
  readonly start: (home: Omit<WorkerHome, 'scratch'>, events: ProcessEvents) => Sandbox;
}

/** Where the log hears of a knowledge object. */
export interface KoLog {
  printed(stream: 'stdout' | 'stderr', line: string): void;
  /** Its process ended unwanted. */
  failed(reason: string): void;
}

export interface KoCallParts extends Omit<CallParts, 'beginBy' | 'caller' | 'records' | 'code' | 'isText' | 'limitMs'> {
  /** The input is JSON; else it is text. */
  readonly json: boolean;
}

/** One of its endpoints: the same as long as it is there, whatever code it gets. */
interface KoEndpoint extends Code {
  text: string;
  code: EndpointCode;
}

export class KoPool {
  /** `<naan>/<name>/<version>`, for the log. */
  readonly ko: string;
  readonly #options: KoPoolOptions;
  readonly #endpoints = new Map<string, KoEndpoint>();
  /** What calls of all of them wait for. */
  readonly #endpoint: Endpoint;
  readonly #pool: Pool;
  readonly #network: KoNetwork;
  /** What code said, without the paths of this machine. */
  readonly #explain: (text: string) => string;
  /** What the code of each process may read. */
  readonly #folders = new WeakMap<Sandbox, ReadonlySet<string>>();
  #onClosed: (() => void) | undefined;

  /** `wake`: tells that there is work, or may be. */
  constructor(ko: string, options: KoPoolOptions, log: KoLog, wake: () => void) {
    this.ko = ko;
    this.#options = options;
    this.#network = new KoNetwork(options.network, ko, () => this.#codes);
    const { program, outputLimit, bodyLimit, policy, concurrency, clock, starts } = options;
    const clean = (text: string): string => withoutOwnPaths(text, this.#codes, options.scratch);
    const explained = (text: string): string => this.#network.access.explain(clean(text));
    this.#explain = explained;
    const figures = {
      // What is left of the figures for isolates asks for no batches, no probation and no helpers.
      ...policyFor(1),
      ...{
        hasHelpers: false,
        largeCharacters: Infinity,
        fastPriority: options.isBehindOthers ? policy.recordsPriority : 0,
      },
    };
    this.#endpoint = new Endpoint(
      {
        ...{ id: ko, slot: 0, loadText: '', limit: options.loadLimitMs, limitedBy: '', maxResult: outputLimit },
        ...{ memoryMb: program.memoryMb, memoryLimitedBy: '', oneByOne: true, words: wordsOf(explained) },
        ...{ log: () => undefined, explain: (message) => message, placeIn: () => undefined },
      },
      figures,
    );
    this.#pool = new Pool({
      ...{ sandboxes: 1, memoryMb: program.memoryMb, queueLimit: options.queue, clock, policy: figures, starts, wake },
      start: (events) => this.#start(events),
      conduct: {
        beside: {
          ...{ callsAtOnce: concurrency, repliesBy: program.repliesBy ?? 'data', figures: policy },
          keepsThreads: program.keepsThreads === true,
          maxFrameBytes: outputLimit + 2 * bodyLimit + policy.besideBodyBytes,
          printed: (stream, line) => log.printed(stream, clean(line)),
          saysOutOfMemory: (printed) => program.saysOutOfMemory?.(printed) === true,
          ...{ memoryMb: program.memoryMb, besideMemoryMb: program.besideMemoryMb, clean: explained },
          losses: new WorkerLosses(options.losses),
          onGone: () => this.#settleClosing(),
          onLost: (reason) => log.failed(reason),
        },
      },
    });
  }

  get #codes(): readonly EndpointCode[] {
    return [...this.#endpoints.values()].map(({ code }) => code);
  }

  get workers(): readonly Worker[] {
    return this.#pool.workers.filter(({ process }) => process.alive);
  }

  /** The worker that may be stopped because it has nothing to do. */
  get idleWorker(): Worker | undefined {
    return this.workers.find(({ open, isUsable }) => open.length === 0 && isUsable);
  }

  /** Calls that wait. */
  get waiting(): number {
    return this.#endpoint.counts.waiting;
  }

  get hasWork(): boolean {
    return this.#pool.hasWork;
  }

  /** Before its first endpoint: what its code may reach is there when that is loaded. */
  openNetwork(): Promise<void> {
    return this.#network.open();
  }

  /** Adds an endpoint or puts it anew, so that its next load starts from its files. */
  define(code: EndpointCode): void {
    const text = JSON.stringify({ file: code.file, root: code.root, function: code.function, ...code.more });
    const known = this.#endpoints.get(code.uri);
    const index = known?.index ?? this.#endpoints.size;
    if (known === undefined) this.#endpoints.set(code.uri, { index, text, code });
    else Object.assign(known, { text, code });
    for (const worker of this.workers) {
      const folders = this.#folders.get(worker.process);
      const isReadable = code.folders.every((folder) => folders?.has(folder));
      if (!isReadable || worker.has(index)) void this.#pool.retire(worker);
    }
  }

  /** Gives why it cannot be loaded; empty text where it can. */
  async load(uri: string): Promise<string> {
    const endpoint = this.#endpoints.get(uri);
    if (endpoint === undefined) return `${uri} is not defined`;
    const until = this.#options.clock.now() + this.#options.loadLimitMs;
    return this.#explain(await this.#pool.load(this.#endpoint, endpoint, until)).slice(0, MAX_MESSAGE_CHARACTERS);
  }

  /** `parts.reject` gets a `CallFailure`. */
  submit(uri: string, parts: KoCallParts): void {
    const endpoint = this.#endpoints.get(uri);
    if (endpoint === undefined) return parts.reject(failed(`${uri} is not active`));
    const limitMs = parts.deadline - this.#options.clock.now();
    const { input, depth, scope, trace, deadline, signal, sink, json, resolve, reject } = parts;
    this.#pool.submit(this.#endpoint, {
      ...{ input, depth, scope, trace, deadline, signal, sink, resolve, reject },
      ...{ beginBy: deadline, caller: '', code: endpoint, isText: !json, limitMs },
    });
  }

  /** Lets the open calls end, then the processes. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#onClosed = resolve;
      this.#settleClosing();
    });
  }

  kill(): void {
    this.#pool.kill(isStopping().message);
    this.#network.close();
  }

  /** Called several times a second while there is work, or a worker: ends what passed its limit. */
  look(): void {
    this.#pool.look();
    this.#settleClosing();
  }

  /** Ends the worker that has nothing to do; the next call starts another. */
  stopIdle(): void {
    if (this.idleWorker) void this.#pool.retire(this.idleWorker);
  }

  /** Ends the worker of that process, since it takes more than it may. */
  endFor(loss: WorkerLoss, pid: number, reason: string): void {
    const worker = this.workers.find(({ process }) => process.pid === pid);
    if (worker !== undefined) this.#pool.endFor(worker, loss, reason);
  }

  #start(events: ProcessEvents): Sandbox {
    const codes = this.#codes;
    const folders = new Set(codes.flatMap((code) => code.folders));
    const { ko } = this;
    const name = ko.slice(0, ko.lastIndexOf('/'));
    const may = (names: readonly string[] = []): boolean => names.includes(name);
    const { processes, addons } = this.#options;
    const home = {
      ...{ ko, root: codes[0]?.root ?? '/', folders: [...folders], network: this.#network.access },
      ...{ processes: may(processes), addons: may(addons) },
    };
    const process = this.#options.start(home, events);
    this.#folders.set(process, folders);
    return process;
  }

  #settleClosing(): void {
    if (this.#onClosed === undefined || !this.#endpoint.counts.isNothing) return;
    for (const worker of this.workers) void this.#pool.retire(worker);
    if (this.workers.some(({ isDone }) => !isDone)) return;
    this.#network.close();
    this.#onClosed();
  }
}

/** `clean`: takes the paths of this machine out of what code says. */
const wordsOf = (clean: (text: string) => string): Words => ({
  abandoned: () => isAbandoned(),
  noTurn: ({ id }, { limitMs }, problem) => hadNoTurn(id, limitMs, problem),
  queueFull: ({ id }, waiting) => queueIsFull(id, waiting),
  ending: () => isStopping(),
  errorOf: ({ kind, description, status, place, retire }: ProgramFailure) =>
    new CallFailure(kind, clean(description).slice(0, MAX_MESSAGE_CHARACTERS), {
      ...(status !== undefined && { status }),
      ...(place && { place }),
      retires: retire === true,
    }),
});

export class KoNetwork {
  readonly #open: () => Promise<NetworkAccess> | undefined;
  #access: NetworkAccess = NO_NETWORK;
  #opening: Promise<void> | undefined;
  #isClosed = false;

  constructor(network: Pick<Network, 'open'> | undefined, ko: string, codes: () => readonly EndpointCode[]) {
    this.#open = () => network?.open(ko, codes);
  }

  get access(): NetworkAccess {
    return this.#access;
  }

  open(): Promise<void> {
    return (this.#opening ??= this.#openOnce().catch((thrown: unknown) => {
      // The next endpoint tries again.
      this.#opening = undefined;
      throw thrown;
    }));
  }

  close(): void {
    this.#isClosed = true;
    void this.#access[Symbol.asyncDispose]();
  }

  async #openOnce(): Promise<void> {
    const opened = await this.#open();
    if (opened === undefined) return;
    this.#access = opened;
    if (this.#isClosed) this.close();
  }
}

/**
 * What code said, for people who may not know where it lies on this machine: its paths become those of the knowledge object.
 * @param scratch in which workers have theirs, in the folder of what is fetched and installed.
 */
export function withoutOwnPaths(text: string, codes: readonly EndpointCode[], scratch: string): string {
  if (!text.includes('/')) return text;
  let clean = text;
  const strip = (folder: string): void => {
    if (!isAbsolute(folder)) return;
    for (const form of [`${pathToFileURL(folder).href}/`, `file://${folder}/`, `${folder}/`])
      clean = clean.replaceAll(form, '');
  };
  for (const code of codes) {
    for (const folder of [code.root, ...code.folders]) strip(folder);
    clean = clean.replaceAll(code.file, relative(code.root, code.file));
  }
  strip(dirname(scratch));
  return clean;
}
