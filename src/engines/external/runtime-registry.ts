/** All external runtimes: which registered, which answer, and what a registration sets off. */
import { malformedRequest, notFound } from '../../lib/errors.ts';
import { escapeForMessage, withoutEndSlashes } from '../../lib/text.ts';
import { uptime } from '../../lib/time.ts';
import { withoutCredentialsIn } from '../../lib/without-credentials.ts';
import type { EngineRegistry } from '../engine-registry.ts';
import { engineName } from '../table.ts';
import { type ExternalOptions, RuntimeEngine } from './runtime-engine.ts';
import { type Registration, Runtime } from './runtime.ts';

export interface RegistryOptions extends ExternalOptions {
  /** Receives the engines of runtimes, and emits their registrations. */
  readonly engines: EngineRegistry;
  /** Milliseconds of silence after which a runtime is forgotten. */
  readonly expiry: number;
}

/** A registration's outcome, as the runtime is told. */
export type RegistrationStatus = 'new' | 'existing runtime';

/** Checks of a runtime within `expiry`. */
const CHECKS_PER_EXPIRY = 5;

const ENGINE_NAME = /^[a-z0-9][a-z0-9._-]{0,31}$/;

/** A runtime that registered with another activator. */
export interface SharedRegistration {
  readonly registration: Registration;
  /** Under which it reaches the service. */
  readonly activator: string;
  /** Milliseconds since it was heard of. */
  readonly silence: number;
  /** Its endpoints are to be activated anew. */
  readonly renews: boolean;
}

export class RuntimeRegistry {
  readonly #options: RegistryOptions;
  readonly #engines = new Map<string, RuntimeEngine>();
  readonly #watch: NodeJS.Timeout;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#watch = setInterval(() => void this.#forgetSilent(), Math.max(100, options.expiry / CHECKS_PER_EXPIRY));
    this.#watch.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#watch);
  }

  /** The engine of that name, made where it is not there yet. @throws malformedRequest for a name that is taken by an engine of the service itself. */
  engine(name: string): RuntimeEngine {
    const known = this.#engines.get(name);
    if (known !== undefined) return known;
    if (this.#options.engines.get(name) !== undefined || !ENGINE_NAME.test(name))
      throw malformedRequest(
        `Not registered: ${escapeForMessage(name)} is an engine of the activator itself, or no name of an engine`,
      );
    const engine = new RuntimeEngine(name, this.#options);
    this.#engines.set(name, engine);
    this.#options.engines.add(engine);
    return engine;
  }

  /** `activator`: under which it reaches this service. */
  register(registration: Registration & { readonly forceUpdate?: unknown }, activator: string): RegistrationStatus {
    const engine = this.engine(engineName(registration.engine));
    const { forceUpdate, ...rest }: Registration & { readonly forceUpdate?: unknown } = registration;
    const url = withoutEndSlashes(rest.url);
    const known = engine.runtimes.find((each) => each.url === url);
    this.#options.sharing?.()?.registered({ ...rest, url }, activator, known === undefined || forceUpdate === true);
    return this.#take(engine, rest, activator, forceUpdate === true);
  }

  /** Takes in a runtime that registered with another activator. `silence`: milliseconds since then. */
  takeShared({ registration, activator, silence, renews }: SharedRegistration): void {
    const engine = this.engine(engineName(registration.engine));
    const known = engine.runtimes.find((each) => each.url === registration.url);
    const seen = uptime() - silence;
    // This activator has newer knowledge.
    if (known !== undefined && !renews && known.seen >= seen) return;
    this.#take(engine, registration, activator, renews && known !== undefined);
  }

  #take(engine: RuntimeEngine, registration: Registration, activator: string, renews: boolean): RegistrationStatus {
    const url = withoutEndSlashes(registration.url);
    const known = engine.runtimes.find((each) => each.url === url);
    if (known !== undefined) {
      known.registration = registration;
      known.activator = activator;
      known.seen = uptime();
      // "Heartbeats must not re-activate anything, unless the runtime had been lost […]."
      if (renews) this.#activateAt(known);
      else if (known.lost) void this.#activateIfUp(known);
      else known.up = true;
      return 'existing runtime';
    }
    const runtime = new Runtime(registration, activator, this.#options.stopped);
    runtime.deactivating = (id, tell) => this.#options.sharing?.()?.deactivate(url, id, tell) ?? tell();
    // It has no endpoints yet.
    runtime.up = false;
    engine.add(runtime);
    this.#activateAt(runtime);
    return 'new';
  }

  remove(runtime: Runtime): void {
    this.engine(runtime.engine).remove(runtime);
  }

  /** Every runtime, asked now: "the registration merged with what the runtime's own `GET /info` says". */
  async environments(): Promise<Record<string, unknown>[]> {
    const ofEngines = [...this.#engines.values()].map(async (engine) => [
      ...managedEnvironmentOf(engine),
      ...(await Promise.all(engine.runtimes.map(environmentOf))),
    ]);
    return (await Promise.all(ofEngines)).flat();
  }

  /** @throws notFound for an engine without runtimes. */
  async environment(name: string): Promise<Record<string, unknown>> {
    const engine = this.#engines.get(engineName(name));
    const [managed] = engine === undefined ? [] : managedEnvironmentOf(engine);
    if (managed !== undefined) return managed;
    const [first] = [...(engine?.runtimes ?? [])].sort((a, b) => Number(b.up) - Number(a.up));
    if (first === undefined) throw notFound(`No runtime of the engine ${name} is registered`);
    return environmentOf(first);
  }

  /** Asks those that were silent for most of the time: old runtimes send no heartbeats, and stay as long as they answer. */
  async #forgetSilent(): Promise<void> {
    const { expiry, log } = this.#options;
    const silence = (runtime: Runtime): number => uptime() - Math.max(runtime.seen, runtime.answered);
    const runtimes = [...this.#engines.values()].flatMap((engine) => engine.runtimes);
    const silent = runtimes.filter((each) => silence(each) > (expiry * (CHECKS_PER_EXPIRY - 2)) / CHECKS_PER_EXPIRY);
    // Old runtimes send no heartbeats: what answers here is there for all.
    for (const each of runtimes)
      if (uptime() - each.answered < expiry / CHECKS_PER_EXPIRY && each.answered > 0)
        this.#options.sharing?.()?.registered(each.registration, each.activator, false);
    await Promise.all(
      silent.map(async (runtime) => {
        if ((await runtime.info()) !== undefined || silence(runtime) <= expiry || runtime.closed) return;
        this.remove(runtime);
        this.engine(runtime.engine).losses.add('forgotten');
        this.#options.sharing?.()?.forgotten(runtime.url);
        log.warn(
          { runtime: runtime.engine, url: runtime.url },
          `a runtime gave no sign of life for ${expiry / 1000} s and is forgotten until it registers again (--runtime-expiry)`,
        );
      }),
    );
  }

  #activateAt(runtime: Runtime): void {
    const alone = this.engine(runtime.engine).runtimes.every((each) => !each.up || each.lost);
    runtime.expect();
    this.#options.engines.emit('runtime', runtime.engine, alone);
  }

  /** One that registers though another program has its port must not set anything going. */
  async #activateIfUp(runtime: Runtime): Promise<void> {
    if ((await runtime.info()) === undefined) return;
    // Its endpoints are gone for all.
    this.#options.sharing?.()?.registered(runtime.registration, runtime.activator, true);
    this.#activateAt(runtime);
  }
}

/** Managed workers have no address: only the service calls them. */
const managedEnvironmentOf = ({ name, managed }: RuntimeEngine): Record<string, unknown>[] =>
  managed === undefined
    ? []
    : [
        {
          ...{ engine: name, version: managed.version, status: 'up', local: true },
          ...{ endpoints: managed.endpoints, workers: managed.workers },
        },
      ];

async function environmentOf(runtime: Runtime): Promise<Record<string, unknown>> {
  const info = await runtime.info();
  return info === undefined
    ? { ...runtime.registration, status: 'Activator could not connect to runtime' }
    : { ...runtime.registration, ...withoutCredentialsIn(info), url: runtime.url, status: 'up' };
}
