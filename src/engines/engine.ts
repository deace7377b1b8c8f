/**
 * What every engine can do: bring one endpoint to life, and say how it is. `resource`, `javascript` and the
 * runtimes are all engines behind this contract; which there are stands in `table.ts`.
 */
import type { KoId } from '../knowledge-object/id.ts';
import type { HostPort } from '../lib/host-port.ts';
import type { RecordBlock, RecordsAnswer } from './records.ts';

/** One declared endpoint, checked for agreement: all that an engine needs to activate it. */
export interface EndpointPlan {
  /** `<naan>/<name>/<apiVersion>/<endpoint>`, or with the KO version where another KO version has that id. */
  readonly id: string;
  readonly ko: KoId;
  /** Name of the engine. */
  readonly engine: string;
  /** Path as deployed, without the leading slash. */
  readonly endpoint: string;
  readonly apiVersion: string;
  readonly artifacts: readonly string[];
  /** Main code file, one of `artifacts`. */
  readonly entry: string;
  /** Name of the entry function; the default export or `module.exports` when absent. */
  readonly function: string | undefined;
  /** It is no function of the code that is wanted, but one that gives the names of those that `entry` exports. */
  readonly listsExports?: true | undefined;
  /** Its code was seen to load just now. */
  readonly isLoaded?: true | undefined;
  /** Present where the code is a package to install: its names, and the folder of its files, the artifacts. */
  readonly installs?: { readonly package?: string; readonly module?: string; readonly folder: string } | undefined;
  readonly options: EndpointOptions;
  /** What its code says to connect to; only the operator's word allows it. */
  readonly network?: readonly HostPort[] | undefined;
  /** What else the deployment descriptor says, for external runtimes. */
  readonly descriptor: Readonly<Record<string, unknown>>;
  /** Changes with any file of the package. */
  readonly checksum: string;
  /** All files of the package, by path. */
  readonly files: { get(path: string): { readonly size: number } | undefined };
  /** A file of the package, as it was loaded. */
  readonly read: (path: string) => Promise<Buffer>;
}

export interface EndpointOptions {
  /** `call`: each call gets a fresh context, so that nothing is kept between calls. */
  readonly isolation: 'ko' | 'call';
  /** Milliseconds a call may take, where the KO says so; the limit of its engine otherwise. */
  readonly timeout: number | undefined;
}

/** One call of an endpoint, from a client or from another KO. */
export interface Call {
  /** The body as it was sent; text, or bytes when its media type is not JSON and an external runtime gets it. */
  readonly body: string | Buffer;
  readonly contentType: string;
  readonly json: boolean;
  /** Milliseconds of `uptime()` by which the caller wants the answer; each engine's own limit may end it earlier. */
  readonly deadline: number;
  /** 0 for a client's call, one more for each call of one KO by another. */
  readonly depth: number;
  /** The client's request, also for nested calls. */
  readonly trace?: CallTrace | undefined;
  /** Finds the endpoints that this call may call: the set that was active when the outermost call began. */
  readonly scope: CallScope;
  /** Once it is aborted nobody waits for the answer: what has not begun is not begun any more. */
  readonly signal?: CallSignal | undefined;
  /** Whom it comes from, such as the address of a client: those take turns where there is not enough for all. */
  readonly caller?: string | undefined;
}

/** Calls of many records, each of which is one call. Nobody waits for one of them alone. */
export interface RecordsCall {
  readonly records: RecordBlock;
  readonly scope: CallScope;
  readonly trace?: CallTrace | undefined;
  readonly caller?: string | undefined;
  readonly signal?: CallSignal | undefined;
}

/** What is asked when a call has its turn; listening to each call would cost all of them. */
export type CallSignal = Pick<AbortSignal, 'aborted'>;

/** Identifies a request in logs, here and elsewhere. */
export interface CallTrace {
  readonly requestId: string;
  /** The header of that name, as it came. */
  readonly traceparent: string | undefined;
  /** The header of that name; without `traceparent` it means nothing. */
  readonly tracestate?: string | undefined;
  /** Where calls are traced. */
  readonly span?: CallSpan | undefined;
  /** What the client can name the answer by: no other call of any activator has it. */
  readonly executionId: string;
}

/** What a trace learns of a call as it goes on. */
export interface CallSpan {
  /** It has its turn: what it waited for is over. */
  begins(): void;
  /** It is sent to a runtime. @returns what goes with it there, and whom to tell when the answer is there. */
  goesTo(url: string): { readonly trace: CallTrace; end(thrown?: unknown): void };
}

export interface CallScope {
  /** The active endpoint of that id, in any of the spellings that a client may use; undefined when there is none. */
  find(id: string): CallTarget | undefined;
  /** Calls one for another KO, as any call is run and measured. @throws ServiceError as executors; endpointNotFound. */
  call(id: string, call: NestedCall): Promise<string>;
  /** What the service says of an endpoint, as JSON text; undefined when there is none. */
  describe?(id: string): Promise<string | undefined>;
}

/** A call by code, in the scope of the call for which that runs. */
export type NestedCall = Omit<Call, 'scope' | 'body'> & { readonly body: string };

/** An endpoint as another KO sees it. */
export interface CallTarget {
  /** What runs it, once its activation is decided. */
  ready(): Executor | undefined;
}

/** An activated endpoint. */
export interface Executor {
  /**
   * Runs the endpoint and gives its result as JSON text.
   * @throws ServiceError executionFailed, overloaded, runtimeUnreachable, runtimeSilent, bodyNotReadable.
   */
  execute(call: Call): Promise<string>;
  /** Runs many records behind all single calls, for engines that have a quicker way than one after the other. Never rejects. */
  readonly executeRecords?: ((call: RecordsCall) => Promise<RecordsAnswer>) | undefined;
  /** Lets go of what the endpoint holds; running calls end as they began. May be called twice. */
  dispose(): void;
}

/** The endpoint cannot be activated: the message is its `detail`, one sentence for the author of the KO. */
export class ActivationFailure extends Error {
  override readonly name = 'ActivationFailure';
  /** True where it says nothing about the KO, such as a package registry that cannot be reached: it is tried again. */
  readonly mayPass: boolean;

  constructor(message: string, { mayPass = false }: { readonly mayPass?: boolean } = {}) {
    super(message);
    this.mayPass = mayPass;
  }
}

export interface ActivationContext {
  /** Shows what goes on meanwhile as the `detail` of the endpoint, such as `installing dependencies`. */
  progress(detail: string): void;
  readonly signal: AbortSignal;
}

export interface EngineHealth {
  readonly status: 'UP' | 'DOWN';
  readonly details: Readonly<Record<string, unknown>>;
}

/** What an engine has and does at the moment. */
export interface EngineFigures {
  /** Calls that wait for a process or a connection. */
  readonly waiting: number;
  /** The longest of the queues of endpoints, knowledge objects and runtimes. */
  readonly longestQueue: number;
  /** Kinds of processes that it may have. */
  readonly kinds: readonly ProcessKind[];
  readonly processes: readonly EngineProcess[];
  readonly isolates?: number;
  readonly runtimes?: { readonly up: number; readonly down: number };
  /** Since the start: what was lost, or ended for a reason. */
  readonly restarts: readonly (readonly [kind: ProcessKind | 'runtime', reason: string, count: number])[];
}

export type ProcessKind = 'sandbox' | 'worker';

export interface EngineProcess {
  readonly kind: ProcessKind;
  /** Resident bytes; 0 where the system does not tell. */
  readonly memory: () => number;
}

export interface Engine extends AsyncDisposable {
  readonly name: string;
  /** "The method must be POST for objects that run code and return a result; it must be GET for a resource object." */
  readonly method: 'post' | 'get';
  /** Part of the service itself. The activation of other engines may take minutes, and a start does not wait for it. */
  readonly builtIn: boolean;
  /** @throws ActivationFailure. */
  activate(plan: EndpointPlan, context: ActivationContext): Promise<Executor>;
  /**
   * At a start, what runs an endpoint whose code an earlier one saw to load: it asks for the plan at its first call.
   * Undefined where that is to be found out; left out where it always is.
   */
  activateKnown?(about: Pick<EndpointPlan, 'id' | 'checksum'>, plan: () => Promise<EndpointPlan>): Executor | undefined;
  health(): EngineHealth;
  /** Takes whom to tell when its health may have changed; left out where it never does, or where nobody learns of it. */
  watch?(changed: () => void): void;
  /** Left out where it has no processes; at the cost of a look at each of them. */
  figures?(): EngineFigures;
  /** What runs the code, with its version; undefined where that is the service itself, or not known. */
  readonly release?: string | undefined;
  /** For `/actuator/info`; nothing sensitive. */
  info(): Readonly<Record<string, unknown>>;
}

/** Remembers code that was seen to load. */
export interface KnownLoads {
  /** True, once, when an earlier start saw it. */
  loads(key: string): boolean;
  rememberLoad(key: string, works: boolean): void;
}
