/** An engine whose endpoints run in own workers or in runtimes that register: `node`, `python`, or one that others wrote. */
import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '../../lib/errors.ts';
import { ActivationFailure } from '../engine.ts';
import { Tally } from '../../lib/tally.ts';
import type { ActivationContext, EndpointPlan, Engine, EngineFigures, EngineHealth, Executor } from '../engine.ts';
import { activateAt } from './activate-at.ts';
import type { OwnWorkers } from '../workers/own-workers.ts';
import { RemoteExecutor } from './remote-executor.ts';
import type { RemoteOptions } from './remote-options.ts';
import type { Runtime } from './runtime.ts';

const POLL_MS = 250;

/** Runtimes that could not be reached any more, and those that were not heard of for so long that they were forgotten. */
const RUNTIME_LOSSES = ['lost', 'forgotten'] as const;

export class RemoteEngine implements Engine {
  readonly name: string;
  readonly method = 'post';
  readonly local = false;
  /** In the order of their first registration. */
  readonly runtimes: Runtime[] = [];
  /** Why there is no runtime of our own, or what it waits for. */
  absence: string | undefined;
  /** A runtime of our own is on its way. */
  starting = false;
  readonly #options: RemoteOptions;
  readonly losses = new Tally<(typeof RUNTIME_LOSSES)[number]>(RUNTIME_LOSSES);
  #changed: () => void = () => undefined;
  #own: OwnWorkers | undefined;
  readonly #activating = new Set<(runtime: Runtime) => void>();

  constructor(name: string, options: RemoteOptions) {
    this.name = name;
    this.#options = options;
  }

  /** Workers of the service itself, where it has them. */
  get own(): OwnWorkers | undefined {
    return this.#own;
  }

  set own(workers: OwnWorkers | undefined) {
    this.#own = workers;
    this.#changed();
  }

  /** Those that register while an endpoint is being activated are tried too. */
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
    // The protocol of runtimes has no question for that.
    if (plan.listsExports === true && this.#own === undefined)
      throw new ActivationFailure(
        `libraries run in workers of the service itself, and those of ${this.name} do not run here${this.absence === undefined ? '' : `: ${this.absence}`}`,
      );
    const executor = new RemoteExecutor(plan, this.#options);
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
    if (this.#own !== undefined) tryIt(this.#own.activate(plan, context).then((place) => executor.addPlace(place)));
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
    const own = this.#own === undefined ? 0 : 1;
    const problem = this.absence ?? this.#own?.problem;
    const ownUp = own > 0 && this.#own?.problem === undefined ? 1 : 0;
    const up = ownUp + this.runtimes.filter((each) => each.up).length;
    const details = {
      engines: [this.name],
      runtimes: own + this.runtimes.length,
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
    const own = this.#own?.figures();
    const waiting = this.runtimes.map((runtime) => runtime.waiting);
    const up = this.runtimes.filter((runtime) => runtime.up).length;
    return {
      waiting: waiting.reduce((sum, each) => sum + each, own?.waiting ?? 0),
      longestQueue: Math.max(own?.longestQueue ?? 0, ...waiting),
      kinds: this.#own === undefined ? [] : ['worker'],
      processes: own?.processes ?? [],
      runtimes: { up, down: this.runtimes.length - up },
      restarts: [
        ...(own?.restarts ?? []),
        ...[...this.losses].map(([reason, count]) => ['runtime', reason, count] as const),
      ],
    };
  }

  get release(): string | undefined {
    const others = this.runtimes.map(({ registration: { version } }) =>
      typeof version === 'string' ? version : undefined,
    );
    const all = [this.#own?.release, ...others].filter((each) => each !== undefined);
    return all.length === 0 ? undefined : [...new Set(all)].join(', ');
  }

  info(): Record<string, unknown> {
    const own = this.#own === undefined ? [] : [{ version: this.#own.version, status: 'up' }];
    const others = this.runtimes.map(({ registration, up }) => ({
      version: registration['version'],
      status: up ? 'up' : 'down',
    }));
    return { runtimes: [...own, ...others], ...(this.#own && { workers: this.#own.workers }) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#own?.[Symbol.asyncDispose](), ...this.runtimes.map((each) => each.close())]);
  }

  /** Waits for a runtime of our own that starts. @throws ActivationFailure when there is none and none is on its way. */
  async #someRuntime(context: ActivationContext): Promise<void> {
    while (this.runtimes.length === 0 && this.#own === undefined) {
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
