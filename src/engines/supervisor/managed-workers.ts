/** The workers of one engine that the service runs itself. Nothing is started, or even loaded, before code is to run. */
import { isJsonText } from '../../lib/json.ts';
import type { Logger } from 'pino';
import { digestOf } from '../../lib/text.ts';
import { invalidResult, toError } from '../../lib/errors.ts';
import { uptime } from '../../lib/time.ts';
import { checkJson } from '../check-json.ts';
import { ActivationFailure } from '../engine.ts';
import type { ConsoleLines } from '../console-lines.ts';
import type { ActivationContext, Call, EndpointPlan, KnownLoads, RecordsCall } from '../engine.ts';
import type { RecordBlock, RecordsAnswer, RecordsPart } from '../records.ts';
import type { Network } from '../network/network.ts';
import { whyNothingStarts } from '../../confinement/launch.ts';
import type { Kernel } from '../../confinement/walls.ts';
import type { EndpointLocation } from '../external/external-endpoint.ts';
import { CallFailure, toServiceError, wasUnloaded } from './call-failure.ts';
import { installFailure, openFailure } from './packages/errors.ts';
import type { HostedEndpoint, WantedCode } from './hosted-code.ts';
import type { OpenWorkers } from './open-managed-workers.ts';
import type { SharedFetches } from './packages/shared-fetches.ts';
import { workerPolicy } from './worker-policy.ts';
import { RecordChunks } from './record-chunks.ts';
import type { ChunkOutcome } from './record-chunks.ts';
import type { KoPool } from './ko-pool.ts';
import type { Environment, Adapter } from './adapter.ts';
import type { KoPools } from './ko-pools.ts';

export interface ManagedWorkersOptions {
  /** Name of the engine. */
  readonly engine: string;
  readonly adapter: Adapter;
  readonly version: string;
  /** Folder of what is fetched and installed. */
  readonly cache: string;
  /** Milliseconds a call may take where its endpoint sets no limit, … */
  readonly callTimeout: number;
  /** … and an activation. */
  readonly activationTimeout: number;
  /** Bytes. */
  readonly maxResult: number;
  readonly maxBody: number;
  /** Calls that may wait for one knowledge object. */
  readonly queueLimit: number;
  readonly sourceBuilds: readonly string[];
  readonly environment: Environment;
  /** Of which processes get walls; none do where it is left out. */
  readonly kernel?: Kernel;
  /** What opens the network to those that may use it. */
  readonly network?: Network;
  /** What other nodes have fetched; undefined where there are none. */
  readonly shared?: SharedFetches | undefined;
  /** `<naan>/<name>` of those whose code may start programs. */
  readonly processes?: readonly string[];
  /** … and may load native addons. */
  readonly addons?: readonly string[];
  /** At a start, code that an earlier one saw to load is loaded by its first call. */
  readonly known?: KnownLoads;
  readonly log: Logger;
  /** Megabytes of a worker; as much as its code needs for the largest input and result where it is left out. */
  readonly memoryMb?: number | undefined;
  /** Keep what code prints. */
  readonly consoles?: ConsoleLines;
}

export class ManagedWorkers implements AsyncDisposable {
  readonly #options: ManagedWorkersOptions;
  #opening: Promise<OpenWorkers> | undefined;
  #opened: OpenWorkers | undefined;
  #endpoints = 0;
  /** Why they could not be opened the last time. */
  #closedBy: string | undefined;

  constructor(options: ManagedWorkersOptions) {
    this.#options = options;
  }

  /** Of the service, which they are a part of. */
  get version(): string {
    return this.#options.version;
  }

  /** What runs the code; undefined before there is code to run. */
  get release(): string | undefined {
    return this.#opened?.adapter.program.release;
  }

  /** Endpoints that can be called. */
  get endpoints(): number {
    return this.#endpoints;
  }

  /** Processes at present. */
  get workers(): number {
    return this.#opened?.pool.workerCount ?? 0;
  }

  /** Undefined before there is code to run. */
  figures(): ReturnType<KoPools['figures']> | undefined {
    return this.#opened?.pool.figures();
  }

  /** Why no worker can be started, while that is so. */
  get problem(): string | undefined {
    const { kernel } = this.#options;
    return this.#closedBy ?? this.#opened?.pool.problem ?? (kernel && whyNothingStarts(kernel));
  }

  /** @throws ActivationFailure. */
  async activate(plan: EndpointPlan, context: ActivationContext): Promise<ManagedEndpoint> {
    const { adapter, known, activationTimeout } = this.#options;
    const late = AbortSignal.timeout(activationTimeout);
    const gone = AbortSignal.any([late, context.signal]);
    const tooLate = new Promise<never>((_, reject) => {
      gone.addEventListener('abort', () =>
        reject(
          new ActivationFailure(
            late.aborted
              ? `the ${plan.engine} workers did not activate it within ${activationTimeout / 1000} s (--activation-timeout)`
              : 'it was replaced',
            { mayPass: late.aborted },
          ),
        ),
      );
    });
    tooLate.catch(() => undefined);
    let key = '';
    const activating = this.#open().then(({ code }) =>
      code.activate(
        wantedBy(plan, adapter),
        (stage) => context.progress(stage),
        (of) => {
          key = digestOf(`${plan.engine}\n${of}`);
          return known?.loads(key) === true;
        },
      ),
    );
    // What comes too late is needed no more.
    activating.then(
      (hosted) => gone.aborted && hosted.release(),
      () => undefined,
    );
    try {
      const hosted = await Promise.race([activating, tooLate]);
      known?.rememberLoad(key, true);
      const checksJson = this.#opened?.adapter.program.checksJson === true;
      this.#endpoints++;
      return new ManagedEndpoint(hosted, {
        callTimeout: plan.options.timeout ?? this.#options.callTimeout,
        checksJson,
        onUnloaded: () => known?.rememberLoad(key, false),
        onRelease: () => this.#endpoints--,
      });
    } catch (thrown) {
      if (key !== '') known?.rememberLoad(key, false);
      throw thrown instanceof ActivationFailure ? thrown : installFailure(thrown);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    opened?.limiter.stop();
    opened?.pool.kill();
    opened?.adapter.installer?.kill();
  }

  #open(): Promise<OpenWorkers> {
    // What failed, such as for a full disk, is tried again.
    this.#opening ??= import('./open-managed-workers.ts')
      .then(async ({ openWorkers }) => {
        this.#opened = await openWorkers(this.#options);
        this.#closedBy = undefined;
        return this.#opened;
      })
      .catch((thrown: unknown) => {
        this.#opening = undefined;
        const failure = openFailure(thrown);
        this.#closedBy = failure.message;
        throw failure;
      });
    return this.#opening;
  }
}

const wantedBy = (plan: EndpointPlan, adapter: Adapter): WantedCode => ({
  uri: plan.id,
  ko: `${plan.ko.naan}/${plan.ko.name}/${plan.ko.version}`,
  checksum: plan.checksum,
  artifacts: [...new Set([plan.entry, ...(adapter.artifactsOf?.(plan) ?? plan.artifacts)])].sort(),
  entry: plan.entry,
  function: plan.function ?? (plan.listsExports === true ? '*' : 'default'),
  listsExports: plan.listsExports,
  isLoaded: plan.isLoaded,
  installs: plan.installs,
  network: plan.network,
  read: plan.read,
});

interface ManagedEndpointParts {
  /** Milliseconds a call may take. */
  readonly callTimeout: number;
  /** The workers refuse inputs that are not JSON by themselves. */
  readonly checksJson: boolean;
  /** It does not load, though it was seen to. */
  readonly onUnloaded: () => void;
  readonly onRelease: () => void;
}

/** An endpoint in own workers. */
export class ManagedEndpoint implements EndpointLocation {
  readonly closed = false;
  readonly up = true;
  readonly #hosted: HostedEndpoint;
  readonly #parts: ManagedEndpointParts;
  readonly #ofOthers = new WeakSet<Error>();
  readonly #chunks = new RecordChunks({
    run: (records, call, limitMs) => this.#runChunk(records, call, limitMs),
    execute: async (call) => this.#call(call, await this.#hosted.hostOfRecords()),
    isOfOthers: (error) => this.#ofOthers.has(error),
    now: uptime,
    policy: workerPolicy,
  });
  #isReleased = false;

  constructor(hosted: HostedEndpoint, parts: ManagedEndpointParts) {
    this.#hosted = hosted;
    this.#parts = parts;
  }

  call(call: Call): Promise<string> {
    return this.#call(call, this.#hosted.host);
  }

  callRecords(call: RecordsCall): Promise<RecordsAnswer> {
    return this.#chunks.run(call);
  }

  async #runChunk(
    records: RecordBlock,
    { scope, trace, signal }: RecordsCall,
    limitMs = Infinity,
  ): Promise<ChunkOutcome> {
    const answered: RecordsPart[] = [];
    const fail = (problem: Error): ChunkOutcome => ({ answered, problem: this.#told(problem) });
    const host = await this.#hosted.hostOfRecords().catch(toError);
    if (host instanceof Error) return fail(host);
    return new Promise((resolve) => {
      host.submit(this.#hosted.uri, {
        input: records.text,
        sink: {
          count: records.count,
          take: (parts) => {
            for (const part of parts) answered.push(part instanceof Error ? this.#told(part) : part);
          },
        },
        ...{ json: true, depth: 0, scope, trace, signal },
        deadline: uptime() + Math.min(limitMs, this.#parts.callTimeout),
        resolve: () => resolve({ answered }),
        reject: (problem) => resolve(fail(problem)),
      });
    });
  }

  /** What callers hear. */
  #told(error: Error): Error {
    if (wasUnloaded(error)) this.#parts.onUnloaded();
    const told = toError(toServiceError(error));
    if (error instanceof CallFailure && (error.isOfOthers || error.kind === 'busy')) this.#ofOthers.add(told);
    return told;
  }

  #call({ body, json, depth, scope, trace, signal, deadline }: Call, host: KoPool): Promise<string> {
    const limit = uptime() + this.#parts.callTimeout;
    return new Promise((resolve, reject) => {
      if (json && !this.#parts.checksJson) checkJson(body);
      host.submit(this.#hosted.uri, {
        input: typeof body === 'string' ? body : body.toString('utf8'),
        ...{ json, depth, scope, trace, signal },
        deadline: limit < deadline ? limit : deadline,
        // The code may have written it to the socket itself, and it goes into the answer as it is.
        resolve: (result) => (isJsonText(result) ? resolve(result) : reject(invalidResult('the result is not JSON'))),
        reject: (error) => reject(this.#told(error)),
      });
    });
  }

  lose(): void {
    // It is here as long as the service is.
  }

  ask(): void {
    // Its supervisor does.
  }

  release(): void {
    if (!this.#isReleased) this.#parts.onRelease();
    this.#isReleased = true;
    this.#hosted.release();
  }
}
