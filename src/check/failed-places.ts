/**
 * Where the code of a call failed. The answer has the words of the runtime and no more: "Detail begins with a
 * code-execution-error message carrying the runtime's message". The place stands in the activator's log, which names
 * the request.
 */
import { randomUUID } from 'node:crypto';

export class FailedPlaces {
  /** By the ids of calls that are on their way, such as `(src/bmi.js line 12)`; empty where it is not known. */
  readonly #places = new Map<string, string>();

  /** An id for the `X-Request-Id` of a call. */
  expect(): string {
    const id = `kgrid-${randomUUID()}`;
    this.#places.set(id, '');
    return id;
  }

  /** False where the call is none of these. */
  add(id: string, place: string): boolean {
    if (!this.#places.has(id)) return false;
    this.#places.set(id, place);
    return true;
  }

  /** What is known of a call that has its answer. */
  take(id: string): string {
    const place = this.#places.get(id) ?? '';
    this.#places.delete(id);
    return place;
  }
}

/** A message with the place of its cause, once. */
export const withPlace = (message: string, place: string): string =>
  place === '' || message.includes(place) ? message : `${message} ${place}`;
