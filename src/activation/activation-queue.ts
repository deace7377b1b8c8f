/** Activates endpoints, some at a time, those first that a caller waits for. */
import type { Endpoint } from './endpoint.ts';

const MAX_CONCURRENT = 16;
/** Enough to keep a sandbox busy; more would stand in line there, where nothing can be put before them. */
const MAX_FRESH = 2;
/** Milliseconds after which an activation is slow, and others go on beside it. */
const FRESH_MS = 700;

export class ActivationQueue {
  readonly #waiting = new Set<Endpoint>();
  /** All that run, and those of them that began just now. */
  #running = 0;
  #fresh = 0;

  add(endpoint: Endpoint): void {
    // Nobody waits for what may take minutes, and it takes nobody's place.
    if (endpoint.engine?.builtIn === false) {
      void endpoint.activate();
      return;
    }
    this.#waiting.add(endpoint);
    this.#next();
  }

  /** An endpoint that was replaced waits no more. */
  remove(endpoint: Endpoint): void {
    this.#waiting.delete(endpoint);
  }

  /** Puts an endpoint that waits before all others. */
  prioritize(endpoint: Endpoint): void {
    if (!this.#waiting.delete(endpoint)) return;
    this.#start(endpoint);
  }

  #next(): void {
    for (const endpoint of this.#waiting) {
      if (this.#running >= MAX_CONCURRENT || this.#fresh >= MAX_FRESH) return;
      this.#waiting.delete(endpoint);
      this.#start(endpoint);
    }
  }

  #start(endpoint: Endpoint): void {
    this.#running++;
    this.#fresh++;
    let fresh = true;
    const age = (): void => {
      if (fresh) this.#fresh--;
      fresh = false;
      this.#next();
    };
    const timer = setTimeout(age, FRESH_MS);
    void endpoint.activate().then(() => {
      clearTimeout(timer);
      this.#running--;
      age();
    });
  }
}
