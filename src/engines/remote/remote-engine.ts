/** An engine whose endpoints run in runtimes that register: `node`, `python`, or one that others wrote. */
import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '../../lib/errors.ts';
import { ActivationFailure } from '../engine.ts';
import type { ActivationContext, EndpointPlan, Engine, EngineHealth, Executor } from '../engine.ts';
import { activateAt } from './activate-at.ts';
import { RemoteExecutor } from './remote-executor.ts';
import type { RemoteOptions } from './remote-options.ts';
import type { Runtime } from './runtime.ts';

const POLL_MS = 250;

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
  #changed: () => void = () => undefined;
  readonly #activating = new Set<(runtime: Runtime) => void>();

  constructor(name: string, options: RemoteOptions) {
    this.name = name;
    this.#options = options;
  }

  /** Those that register while an endpoint is being activated are tried too. */
  add(runtime: Runtime): void {
    this.runtimes.push(runtime);
    runtime.onChange = this.#changed;
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
    const executor = new RemoteExecutor(plan, this.#options);
    const { promise: held, resolve, reject } = Promise.withResolvers<void>();
    const causes = new Set<string>();
    let trying = 0;
    const tryAt = (runtime: Runtime): void => {
      trying++;
      const activated = runtime.endpoints.hold(plan.id).then(() => activateAt(runtime, plan, context, this.#options));
      activated.then(
        (at) => {
          executor.add(runtime, at);
          resolve();
        },
        (thrown: unknown) => {
          runtime.endpoints.release(plan.id);
          causes.add(messageOf(thrown));
          if (--trying === 0) reject(new ActivationFailure([...causes].join('; ')));
        },
      );
    };
    this.#activating.add(tryAt);
    this.runtimes.forEach(tryAt);
    try {
      // The first that holds it is enough; the others join when they are done.
      await held;
      return executor;
    } finally {
      this.#activating.delete(tryAt);
    }
  }

  health(): EngineHealth {
    const up = this.runtimes.filter((each) => each.up).length;
    const details = {
      engines: [this.name],
      runtimes: this.runtimes.length,
      up,
      ...(this.starting && { starting: true }),
      ...(this.absence !== undefined && { problem: this.absence }),
    };
    return { status: up > 0 ? 'UP' : 'DOWN', details };
  }

  watch(changed: () => void): void {
    this.#changed = changed;
  }

  info(): Record<string, unknown> {
    return {
      runtimes: this.runtimes.map(({ registration, up }) => ({
        version: registration['version'],
        status: up ? 'up' : 'down',
      })),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.runtimes.map((each) => each.close()));
  }

  /** Waits for a runtime of our own that starts. @throws ActivationFailure when there is none and none is on its way. */
  async #someRuntime(context: ActivationContext): Promise<void> {
    while (this.runtimes.length === 0) {
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
