/** Which endpoints the code of a call asked for, with what they were at that time. */
import type { Endpoint } from '../activation/endpoint.ts';

/** Code may ask for all that there is, and each is told in its answer. */
const MOST = 1000;

export class CalledEndpoints {
  readonly #endpoints = new Map<string, Endpoint>();
  #left = 0;

  add(endpoint: Endpoint): void {
    if (this.#endpoints.has(endpoint.id)) return;
    if (this.#endpoints.size < MOST) this.#endpoints.set(endpoint.id, endpoint);
    else this.#left++;
  }

  /** In the order in which they were asked for. */
  get all(): readonly Endpoint[] {
    return [...this.#endpoints.values()];
  }

  /** How often one more than can be told was asked for. */
  get left(): number {
    return this.#left;
  }
}
