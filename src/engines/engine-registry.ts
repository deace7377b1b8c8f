/** The engines that are here now, by name, and what happens to them: for whoever looks one up, or watches. */
import { EventEmitter } from 'node:events';
import { disposeAll } from '../lib/dispose.ts';
import type { Engine, EngineHealth } from './engine.ts';

/** What can be looked up; a `Map` by name does for a test. */
export interface Engines {
  get(name: string): Engine | undefined;
  /** Names. */
  keys(): Iterable<string>;
  values(): Iterable<Engine>;
}

export interface EngineEvents {
  /** An engine is here that was not. */
  came: [engine: Engine];
  /** An engine went from UP to DOWN, or back. */
  health: [engine: Engine, health: EngineHealth];
  /**
   * A runtime of that engine is new, or back: what it is to run must be activated there. `alone`: no other runtime
   * runs it meanwhile.
   */
  runtime: [engine: string, alone: boolean];
}

export class EngineRegistry extends EventEmitter<EngineEvents> implements Engines, AsyncDisposable {
  readonly #engines = new Map<string, Engine>();
  readonly #statuses = new Map<string, EngineHealth['status']>();

  get(name: string): Engine | undefined {
    return this.#engines.get(name);
  }

  keys(): Iterable<string> {
    return this.#engines.keys();
  }

  values(): Iterable<Engine> {
    return this.#engines.values();
  }

  /** @throws Error where an engine of that name is here. */
  add(engine: Engine): void {
    if (this.#engines.has(engine.name)) throw new Error(`there are two engines ${engine.name}`);
    this.#engines.set(engine.name, engine);
    this.#statuses.set(engine.name, engine.health().status);
    engine.watch?.(() => void this.health(engine));
    this.emit('came', engine);
  }

  /** How it is now; those who watch hear of it where that is news. */
  health(engine: Engine): EngineHealth {
    const health = engine.health();
    if (this.#statuses.get(engine.name) !== health.status) {
      this.#statuses.set(engine.name, health.status);
      this.emit('health', engine, health);
    }
    return health;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.removeAllListeners();
    await disposeAll(this.#engines.values());
  }
}
