/**
 * Inputs and results that break the schema of their endpoint, in the log: places and what the schema expects there, never
 * what came. "At most one line a minute for each endpoint and path, the rest counted."
 */
import type { Endpoint } from '../activation/endpoint.ts';
import { uptime } from '../lib/uptime.ts';
import type { Violations } from './validation/violations.ts';
import { factsOf } from './failed-calls.ts';
import type { CallLog } from './failed-calls.ts';

export type Part = 'input' | 'result';

const PERIOD_MS = 60_000;
const LOOK_MS = 5000;
/** Places of one endpoint that are told apart. */
const MOST_PLACES = 100;
const ELSEWHERE = '(other places)';

interface Told {
  readonly endpoint: Endpoint;
  readonly part: Part;
  readonly path: string;
  readonly expected: string;
  since: number;
  more: number;
}

export class SchemaBreaks implements Disposable {
  readonly #log: CallLog;
  readonly #now: () => number;
  readonly #endpoints = new Map<string, Map<string, Told>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(log: CallLog, now: () => number = uptime) {
    this.#log = log;
    this.#now = now;
  }

  note(endpoint: Endpoint, part: Part, { told }: Violations): void {
    for (const { schemaPath, expected } of told) this.#noteOne(endpoint, part, schemaPath, expected);
  }

  /** One that could not be checked. */
  noteUndecided(endpoint: Endpoint, part: Part, reason: string): void {
    this.#noteOne(endpoint, part, '', `to be checked: ${reason}`);
  }

  /** Tells what was counted; `isLast`: of all, whenever they were told of. */
  look(isLast = false): void {
    const now = this.#now();
    for (const [id, places] of this.#endpoints) {
      for (const [key, told] of places) {
        if (!isLast && now - told.since < PERIOD_MS) continue;
        if (told.more === 0) places.delete(key);
        else {
          this.#tell(told);
          told.since = now;
          told.more = 0;
        }
      }
      if (places.size === 0) this.#endpoints.delete(id);
    }
    if (this.#endpoints.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  [Symbol.dispose](): void {
    this.look(true);
    this.#endpoints.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #noteOne(endpoint: Endpoint, part: Part, path: string, expected: string): void {
    let places = this.#endpoints.get(endpoint.id);
    if (places === undefined) this.#endpoints.set(endpoint.id, (places = new Map<string, Told>()));
    const own = `${part} ${path}`;
    const isKnown = places.has(own);
    const key = isKnown || places.size < MOST_PLACES ? own : `${part} ${ELSEWHERE}`;
    const found = places.get(key);
    if (found !== undefined) return void found.more++;
    const at = key === own ? { path, expected } : { path: ELSEWHERE, expected: '' };
    const told: Told = { endpoint, part, ...at, since: this.#now(), more: 0 };
    places.set(key, told);
    this.#timer ??= setInterval(() => this.look(), LOOK_MS).unref();
    this.#tell(told);
  }

  #tell({ endpoint, part, path, expected, more }: Told): void {
    this.#log.warn(
      {
        event: `${part}-breaks-schema`,
        ...factsOf(endpoint),
        ...{ path: path === '' ? '/' : path, expected },
        ...(more === 0 ? {} : { more }),
      },
      more === 0
        ? `the ${part} of a call breaks the schema of its endpoint`
        : `the ${part}s of ${more} more calls break the schema of their endpoint`,
    );
  }
}
