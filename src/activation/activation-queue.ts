/** Activates endpoints, some at a time, those first that a caller waits for. */
import type { Endpoint } from './endpoint.ts';

export class ActivationQueue {
  readonly #waiting = new Set<Endpoint>();
  readonly #most: number;
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(endpoint: Endpoint): void {
    // Nobody waits for what may take minutes, and it takes nobody's place.
    if (endpoint.engine?.local === false) {
      void endpoint.activate();
      return;
    }
    this.#waiting.add(endpoint);
    this.#next();
  }

  /** Puts an endpoint that waits before all others. */
  hurry(endpoint: Endpoint): void {
    if (!this.#waiting.delete(endpoint)) return;
    this.#start(endpoint);
  }

  #next(): void {
    for (const endpoint of this.#waiting) {
      if (this.#running >= this.#most) return;
      this.#waiting.delete(endpoint);
      this.#start(endpoint);
    }
  }

  #start(endpoint: Endpoint): void {
    this.#running++;
    void endpoint.activate().then(() => {
      this.#running--;
      this.#next();
    });
  }
}
