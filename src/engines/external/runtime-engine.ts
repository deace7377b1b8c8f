/** An engine whose endpoints run in managed workers or in external runtimes: `node`, `python`, or one that others wrote. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../lib/errors.ts';
import { Tally } from '../../lib/tally.ts';
import type { CallTokens } from '../call-token.ts';
import {
  ActivationFailure,
  type ActivationContext,
  type EndpointPlan,
  type Engine,
  type EngineFigures,
  type EngineHealth,
  type Executor,
} from '../engine.ts';
import type { ManagedWorkers } from '../supervisor/managed-workers.ts';
import { activateAt, type ActivatedAt } from './activate-at.ts';
import { RuntimeExecutor } from './runtime-executor.ts';
import type { Runtime, Registration } from './runtime.ts';

const POLL_MS = 250;

/** Why a runtime was lost: it could not be reached, or it was silent until `--runtime-expiry`. */
const RUNTIME_LOSSES = ['lost', 'forgotten'] as const;

export class RuntimeEngine implements Engine {
  readonly name: string;
  readonly method = 'post';
  readonly builtIn = false;
  /** In the order of their first registration. */
  readonly runtimes: Runtime[] = [];
  /** Why there are no managed workers. */
  absence: string | undefined;
  /** Whether managed workers can run is being found out. */
  starting = false;
  readonly #options: ExternalOptions;
  readonly losses = new Tally<(typeof RUNTIME_LOSSES)[number]>(RUNTIME_LOSSES);
  #changed: () => void = () => undefined;
  #managed: ManagedWorkers | undefined;
  readonly #activating = new Set<(runtime: Runtime) => void>();

  constructor(name: string, options: ExternalOptions) {
    this.name = name;
    this.#options = options;
  }

  /** Workers that the service runs itself; undefined where it cannot. */
  get managed(): ManagedWorkers | undefined {
    return this.#managed;
  }

  set managed(workers: ManagedWorkers | undefined) {
    this.#managed = workers;
    this.#changed();
  }

  /** Adds a runtime; endpoints that are being activated are tried there too. */
  add(runtime: Runtime): void {
    this.runtimes.push(runtime);
    runtime.onChange = this.#changed;
    runtime.onLost = () => this.losses.add('lost');
    this.#changed();
    for (const tryAt of this.#activating) tryAt(runtime);
  }

  remove(runtime: Runtime): void {
    const at = this.runtimes.indexOf(runtime);
    if (at >= 0) this.runtimes.splice(at, 1);
    void runtime.close();
    this.#changed();
  }

  async activate(plan: EndpointPlan, context: ActivationContext): Promise<Executor> {
    await this.#someRuntime(context);
    // The protocol of external runtimes cannot ask for the exports of a library.
    if (plan.listsExports === true && this.#managed === undefined)
      throw new ActivationFailure(
        `libraries run in workers of the service itself, and those of ${this.name} do not run here${this.absence === undefined ? '' : `: ${this.absence}`}`,
      );
    const executor = new RuntimeExecutor(plan, this.#options);
    const { promise: held, resolve, reject } = Promise.withResolvers<void>();
    const causes = new Set<string>();
    let trying = 0;
    let mayPass = false;
    const tryIt = (activation: Promise<void>): void => {
      trying++;
      activation.then(resolve, (thrown: unknown) => {
        causes.add(messageOf(thrown));
        mayPass ||= thrown instanceof ActivationFailure && thrown.mayPass;
        if (--trying === 0) reject(new ActivationFailure([...causes].join('; '), { mayPass }));
      });
    };
    const tryAt = (runtime: Runtime): void =>
      tryIt(
        runtime.endpoints
          .hold(plan.id)
          .then(() => activateAt(runtime, plan, context, this.#options))
          .then(
            (at) => executor.add(runtime, at),
            (thrown: unknown) => {
              runtime.endpoints.release(plan.id);
              throw thrown;
            },
          ),
      );
    if (plan.listsExports !== true) this.#activating.add(tryAt);
    if (this.#managed !== undefined)
      tryIt(this.#managed.activate(plan, context).then((location) => executor.addLocation(location)));
    if (plan.listsExports !== true) this.runtimes.forEach(tryAt);
    try {
      // The first that holds it is enough; the others join when they are done.
      await held;
      return executor;
    } finally {
      this.#activating.delete(tryAt);
    }
  }

  health(): EngineHealth {
    const managed = this.#managed === undefined ? 0 : 1;
    const problem = this.absence ?? this.#managed?.problem;
    const managedUp = managed > 0 && this.#managed?.problem === undefined ? 1 : 0;
    const up = managedUp + this.runtimes.filter((each) => each.up).length;
    const details = {
      engines: [this.name],
      runtimes: managed + this.runtimes.length,
      up,
      ...(this.starting && { starting: true }),
      ...(problem !== undefined && { problem }),
    };
    return { status: up > 0 ? 'UP' : 'DOWN', details };
  }

  watch(changed: () => void): void {
    this.#changed = changed;
  }

  figures(): EngineFigures {
    const managed = this.#managed?.figures();
    const waiting = this.runtimes.map((runtime) => runtime.waiting);
    const up = this.runtimes.filter((runtime) => runtime.up).length;
    return {
      waiting: waiting.reduce((sum, each) => sum + each, managed?.waiting ?? 0),
      longestQueue: Math.max(managed?.longestQueue ?? 0, ...waiting),
      kinds: this.#managed === undefined ? [] : ['worker'],
      processes: managed?.processes ?? [],
      runtimes: { up, down: this.runtimes.length - up },
      restarts: [
        ...(managed?.restarts ?? []),
        ...[...this.losses].map(([reason, count]) => ['runtime', reason, count] as const),
      ],
    };
  }

  get release(): string | undefined {
    const others = this.runtimes.map(({ registration: { version } }) =>
      typeof version === 'string' ? version : undefined,
    );
    const all = [this.#managed?.release, ...others].filter((each) => each !== undefined);
    return all.length === 0 ? undefined : [...new Set(all)].join(', ');
  }

  info(): Record<string, unknown> {
    const managed = this.#managed === undefined ? [] : [{ version: this.#managed.version, status: 'up' }];
    const others = this.runtimes.map(({ registration, up }) => ({
      version: registration['version'],
      status: up ? 'up' : 'down',
    }));
    return { runtimes: [...managed, ...others], ...(this.#managed && { workers: this.#managed.workers }) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#managed?.[Symbol.asyncDispose](), ...this.runtimes.map((each) => each.close())]);
  }

  /** Waits until a runtime is there. @throws ActivationFailure when there is none and none is on its way. */
  async #someRuntime(context: ActivationContext): Promise<void> {
    while (this.runtimes.length === 0 && this.#managed === undefined) {
      if (!this.starting) {
        throw new ActivationFailure(
          this.absence ?? `no ${this.name} runtime has registered; start one and point it at this service`,
        );
      }
      const why = this.absence === undefined ? '' : `: ${this.absence}`;
      context.progress(`waiting for the ${this.name} runtime to start${why}`);
      await wait(POLL_MS, undefined, { signal: context.signal });
    }
  }
}

export interface RuntimeSharing {
  /**
   * A runtime registered here. `renews`: its endpoints are to be activated anew, by whichever activator is first.
   * Never throws.
   */
  registered(registration: Registration, activator: string, renews: boolean): void;
  /** Where runtimes fetch the artifacts of an endpoint, whichever activator they ask: a path with a slash at its end. */
  artifactsOf(plan: EndpointPlan): string;
  /** It gave no sign of life for too long. Never throws. */
  forgotten(url: string): void;
  /** Activates an endpoint, unless another activator has done it or is about to. @throws as `make`. */
  activate(runtime: Runtime, plan: EndpointPlan, make: () => Promise<ActivatedAt>): Promise<ActivatedAt>;
  /**
   * Tells a runtime that nobody needs an endpoint there any more, unless an activator needs it, or tells so already.
   * None activates it there meanwhile. Never rejects.
   */
  deactivate(url: string, endpoint: string, tell: () => Promise<void>): Promise<void>;
}

export interface ExternalOptions {
  /** Limit of a call in milliseconds, where its endpoint sets none. */
  readonly callTimeout: number;
  /** Limit of an activation in milliseconds, including the installation of its dependencies. */
  readonly activationTimeout: number;
  /** Most calls that wait for one endpoint. */
  readonly queueLimit: number;
  /** Most bytes of an answer. */
  readonly maxResult: number;
  /** Go out with each request that runs code. */
  readonly tokens: CallTokens;
  /** Files are not for everybody: the address of those of an activation carries a proof. */
  readonly areFilesClosed?: boolean | undefined;
  /** Present where several activators use the same runtimes. */
  readonly sharing?: (() => RuntimeSharing | undefined) | undefined;
  /** Aborted when the service stops: no connection is waited for any more. */
  readonly stopped: AbortSignal;
  readonly log: Logger;
}
