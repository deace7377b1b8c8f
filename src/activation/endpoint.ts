/** One endpoint of a loaded knowledge object, and what became of its activation. */
import type { DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import type { Operation } from '../knowledge-object/descriptors/service.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { endpointNotActive, messageOf, overloaded } from '../lib/errors.ts';
import { localTimestamp, preciseNow } from '../lib/time.ts';
import { ActivationFailure } from '../engines/engine.ts';
import type { CallTarget, Engine, EndpointPlan, Executor } from '../engines/engine.ts';
import { listExports } from './library.ts';
import type { LoadedKo, LoadedService } from './loaded-ko.ts';

/** `LOADED`: not decided yet. */
export type EndpointStatus = 'LOADED' | 'ACTIVATED' | 'FAILED_TO_ACTIVATE';

/** Milliseconds that a call waits for an activation that may take minutes. */
const WAIT_MS = 30_000;

/** What a knowledge object declares. */
export interface DeclaredEndpoint {
  readonly ko: LoadedKo;
  readonly from: LoadedService;
  readonly entry: DeploymentEntry;
}

export class Endpoint implements CallTarget {
  /** `<naan>/<name>/<apiVersion>/<endpoint>`, or with the KO version where a newer KO version has that id. */
  readonly id: string;
  readonly ko: LoadedKo;
  /** The service of the KO that has it. */
  readonly from: LoadedService;
  readonly entry: DeploymentEntry;
  readonly engine: Engine | undefined;
  readonly apiVersion: string;
  /** Path as deployed, without the leading slash. */
  readonly name: string;
  /** Settles when the status is no longer `LOADED`; never rejects. */
  readonly decided: Promise<void>;
  status: EndpointStatus = 'LOADED';
  /** Why it failed, or what goes on meanwhile. */
  detail: string | undefined;
  /** True where it failed because something could not be read at that moment: it is tried again. */
  transient = false;
  /** True where it failed for a reason that says nothing about the KO, such as a package registry that is away. */
  mayPass = false;
  /** When it is tried again, in milliseconds since 1970. */
  triedAgainAt: number | undefined;
  /** It stood for a file of a library and has listed its functions, which are to take its place. */
  hasListed = false;
  readonly #problem: string | undefined;
  readonly #prioritize: (endpoint: Endpoint) => void;
  readonly #toldTime: () => number | undefined;
  /** Made when something has to hear of it. */
  #abort: AbortController | undefined;
  #isDisposed = false;
  /** Milliseconds since 1970. A text of it would be 400 bytes. */
  #activatedAt: number | undefined;
  #activatingMs: number | undefined;
  #begun = false;
  #holds = 0;
  #isLetGo = false;
  #executor: Executor | undefined;
  /** Keeps the worker that has loaded a library, until its functions have their places in it. */
  #lister: Executor | undefined;
  readonly #replaced = Promise.withResolvers<void>();
  #decide!: () => void;

  /** `problem`: why it is not worth trying. `prioritize`: asks for its activation to come next. `activated`: the time
   * that is told of it, where that is another than when it is done. */
  constructor(
    id: string,
    { ko, from, entry }: DeclaredEndpoint,
    engine: Engine | undefined,
    problem: string | undefined,
    prioritize: (endpoint: Endpoint) => void,
    activated: () => number | undefined = () => undefined,
  ) {
    this.id = id;
    this.ko = ko;
    this.from = from;
    this.entry = entry;
    this.engine = engine;
    this.apiVersion = from.apiVersion;
    this.name = entry.path.slice(1);
    this.#problem = problem;
    this.#prioritize = prioritize;
    this.#toldTime = activated;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.decided = promise;
    this.#decide = resolve;
    ko.retain();
  }

  /** Media types that the service descriptor declares for the request. */
  get accepts(): readonly string[] {
    return this.#declared?.requestMediaTypes ?? ['application/json'];
  }

  /** Media types that it declares for the 200 response. */
  get responds(): readonly string[] {
    return this.#declared?.responseMediaTypes ?? [];
  }

  get #declared(): Operation | undefined {
    return this.from.service.paths.get(this.entry.path)?.methods.get(this.entry.method);
  }

  /** Brings it to life at once, where its code was seen to load by an earlier start. False where that has to be found out. */
  activateKnown(): boolean {
    const { engine, ko } = this;
    if (this.#begun || this.#problem !== undefined || ko.wasRead || this.entry.listsExports === true) return false;
    const about = { id: this.id, checksum: ko.entry.digest };
    const executor = engine?.activateKnown?.(about, () => ko.open().then(() => this.#plan()));
    if (executor === undefined) return false;
    this.#begun = true;
    this.#executor = executor;
    this.status = 'ACTIVATED';
    this.detail = this.entry.note;
    this.#activatedAt = this.#toldTime() ?? preciseNow();
    this.#activatingMs = 0;
    this.#decide();
    return true;
  }

  /** Brings it to life; once, and not where it was replaced while it waited. Never rejects. */
  async activate(): Promise<void> {
    if (this.#begun) return this.decided;
    this.#begun = true;
    await this.#attempt((detail) => (this.detail = detail));
    this.#decide();
  }

  /** Activates it once more, in its place, where it failed for a reason that may pass. Never rejects. */
  async tryAgain(): Promise<void> {
    // Until it is active, callers hear why it is not.
    if (this.mayPass && !this.isDisposed) await this.#attempt(() => undefined);
  }

  async #attempt(progress: (detail: string) => void): Promise<void> {
    const began = performance.now();
    try {
      if (this.#problem !== undefined) throw new ActivationFailure(this.#problem);
      if (this.engine === undefined) throw new ActivationFailure(`engine ${this.entry.engine} is not known here`);
      if (!this.ko.isOpen) await this.ko.open();
      this.#abort ??= new AbortController();
      if (this.#isDisposed) this.#abort.abort();
      const executor = await this.engine.activate(this.#plan(), { progress, signal: this.#abort.signal });
      if (this.entry.listsExports === true) await this.#list(executor);
      else {
        if (this.#isDisposed) executor.dispose();
        else this.#executor = executor;
        this.status = 'ACTIVATED';
        this.detail = this.entry.note;
      }
      this.mayPass = false;
    } catch (thrown) {
      this.status = 'FAILED_TO_ACTIVATE';
      this.detail = messageOf(thrown);
      // One that was replaced meanwhile is not tried again.
      this.transient = this.ko.isUnread && !this.isDisposed;
      this.mayPass = thrown instanceof ActivationFailure && thrown.mayPass && !this.isDisposed;
    }
    // Other engines listen as long as it is active.
    if (this.engine?.builtIn === true) this.#abort = undefined;
    this.#activatedAt = this.#toldTime() ?? preciseNow();
    this.#activatingMs = performance.now() - began;
  }

  /** False where its status stays as it is. */
  get mayChange(): boolean {
    return this.status === 'LOADED' || this.mayPass;
  }

  /** Another one has its place, or none. */
  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  /** Milliseconds that its activation took; undefined where it had no turn. */
  get activatingMs(): number | undefined {
    return this.#activatingMs;
  }

  /** Local date-time of the activation. */
  get activated(): string | undefined {
    return this.#activatedAt === undefined ? undefined : localTimestamp(this.#activatedAt);
  }

  /** Resolves when it is decided, and no sooner than what it has listed is there. */
  get settled(): Promise<void> {
    return this.decided.then(() => (this.hasListed ? this.#replaced.promise : undefined));
  }

  ready(): Executor | undefined {
    return this.#executor;
  }

  async executor(): Promise<Executor> {
    if (this.#executor !== undefined) return this.#executor;
    if (this.status === 'LOADED') {
      this.#prioritize(this);
      await this.#soonDecided();
    }
    if (this.#executor !== undefined) return this.#executor;
    throw endpointNotActive(
      `No active endpoints found for ${this.address}; ${this.id} failed to activate: ${this.detail ?? 'it was replaced'}`,
    );
  }

  /** Waits for the decision; where that may take minutes, only for a while. @throws overloaded. */
  async #soonDecided(): Promise<void> {
    if (this.engine?.builtIn !== false) return this.decided;
    const late = new AbortController();
    await Promise.race([this.settled, wait(WAIT_MS, undefined, { signal: late.signal })]);
    late.abort();
    if (this.status === 'LOADED')
      throw overloaded(
        `${this.id} is still being activated${this.detail === undefined ? '' : ` (${this.detail})`}; try again later`,
        5,
      );
  }

  /** `<naan>/<name>/<endpoint>`. */
  get address(): string {
    return `${this.ko.id.naan}/${this.ko.id.name}/${this.name}`;
  }

  /** Lets go of its code; calls that run end as they began. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#abort?.abort();
    if (!this.#begun || this.hasListed) this.#giveUp();
    if (this.#holds === 0) this.#letGo();
  }

  /** Keeps its code, also when it is replaced, until what this gives is disposed. */
  hold(): Disposable {
    this.#holds++;
    return {
      [Symbol.dispose]: () => {
        if (--this.#holds === 0 && this.#isDisposed) this.#letGo();
      },
    };
  }

  /** @throws ActivationFailure */
  async #list(executor: Executor): Promise<void> {
    try {
      const functions = await listExports(executor, this.entry.entry);
      if (this.#isDisposed) throw new ActivationFailure('it was replaced');
      this.ko.library?.take(this.entry.path, functions);
      this.#lister = executor;
      this.hasListed = true;
      this.status = 'LOADED';
      this.detail = undefined;
    } catch (thrown) {
      executor.dispose();
      throw thrown;
    }
  }

  #letGo(): void {
    if (this.#isLetGo) return;
    this.#isLetGo = true;
    this.#executor?.dispose();
    this.#lister?.dispose();
    this.ko.release();
  }

  /** It was replaced while it waited for its turn: whoever waits for it looks again. */
  #giveUp(): void {
    this.#begun = true;
    this.status = 'FAILED_TO_ACTIVATE';
    this.detail = 'it was replaced';
    this.#decide();
    this.#replaced.resolve();
  }

  #plan(): EndpointPlan {
    const { entry, ko } = this;
    return {
      id: this.id,
      ko: ko.id,
      engine: entry.engine,
      endpoint: this.name,
      apiVersion: this.apiVersion,
      artifacts: entry.artifacts,
      entry: entry.entry,
      function: entry.function,
      listsExports: entry.listsExports,
      isLoaded: entry.isLoaded,
      installs: installsOf(entry),
      options: { isolation: entry.isolation === 'call' ? 'call' : 'ko', timeout: entry.timeout },
      network: entry.network,
      descriptor: entry.raw,
      checksum: ko.entry.digest,
      files: ko.package.files,
      read: (path) => ko.artifact(path),
    };
  }
}

const installsOf = ({ installs, package: name, module }: DeploymentEntry): EndpointPlan['installs'] =>
  installs === undefined
    ? undefined
    : {
        ...(name === undefined ? {} : { package: name }),
        ...(module === undefined ? {} : { module }),
        folder: installs,
      };
