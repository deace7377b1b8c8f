/**
 * Which calls failed lately, those alike together: of the same endpoint, with the same error at the same place of the code. In
 * memory and bounded, whatever code throws and however often.
 */
import type { Endpoint } from '../activation/endpoint.ts';
import type { FailedActivation } from '../activation/failed-endpoints.ts';
import type { CallTrace } from '../engines/engine.ts';
import { type KoId, koKey } from '../knowledge-object/id.ts';
import { ServiceError } from '../lib/errors.ts';
import { uptime } from '../lib/time.ts';

/** Groups in all, … */
const MOST = 500;
/** … and of one endpoint, so that code that says something else each time leaves room for others. */
const MOST_OF_ENDPOINT = 50;
/** Messages that are read in a second: to find out what they may tell takes time. */
const MOST_MESSAGES = 100;
const SECOND_MS = 1000;
/** What calls of an endpoint are answered that is not active. */
const NOT_FOUND = 404;

/** Calls that failed alike. */
export interface FailureGroup {
  readonly id: KoId;
  /** Path of the endpoint. */
  readonly endpoint: string;
  readonly engine: string;
  readonly code: string;
  readonly status: number;
  /** Left out where it is about the input. */
  readonly message: string | undefined;
  /** `<file>:<line>` in the package. */
  readonly place: string | undefined;
  count: number;
  /** Milliseconds since 1970. */
  readonly first: number;
  last: number;
  /** Of the last call. */
  trace: CallTrace | undefined;
}

/** Where a group is found. */
interface KeptGroup extends FailureGroup {
  readonly key: string;
  /** Without its message. */
  readonly kind: string;
}

export class FailureGroups {
  /** That which failed last at the end. */
  readonly #groups = new Map<string, KeptGroup>();
  /** By kind, the one of them that failed last. */
  readonly #latest = new Map<string, KeptGroup>();
  #second = 0;
  #messages = 0;

  /** `message`: asked for only where there is time for it; where there is none, the call counts to those like it. */
  note(thrown: unknown, endpoint: Endpoint, trace: CallTrace | undefined, message: () => string | undefined): void {
    const isOurs = thrown instanceof ServiceError;
    const code = isOurs ? thrown.code : 'internal';
    const at = isOurs ? thrown.place : undefined;
    const place = at === undefined ? undefined : `${at.file}:${at.line}`;
    const { name, ko, entry } = endpoint;
    const status = isOurs ? thrown.status : 500;
    this.#note({ id: ko.id, endpoint: name, engine: entry.engine, code, status, place, trace }, message);
  }

  /** An endpoint could not be activated, or no endpoint of a knowledge object could be loaded. */
  noteActivation({ id, endpoint = '', engine = '', reason }: FailedActivation): void {
    const trace = undefined;
    const said = { id, endpoint, engine, code: 'activation-failed', status: NOT_FOUND, place: undefined, trace };
    this.#note(said, () => reason);
  }

  #note(failed: Omit<FailureGroup, 'message' | 'count' | 'first' | 'last'>, message: () => string | undefined): void {
    const { id, endpoint, engine, code, place, trace } = failed;
    const kind = JSON.stringify([koKey(id), endpoint, engine, code, place]);
    const text = this.#mayRead() ? message() : this.#latest.get(kind)?.message;
    const key = `${kind} ${text ?? ''}`;
    const now = Date.now();
    let group = this.#groups.get(key);
    if (group === undefined) {
      this.#makeRoom(koKey(id), endpoint);
      group = { ...failed, key, kind, message: text, count: 0, first: now, last: now };
    } else this.#groups.delete(key);
    group.count++;
    group.last = now;
    group.trace = trace;
    this.#groups.set(key, group);
    this.#latest.set(kind, group);
  }

  /** The last to fail first, of one knowledge object or of all. */
  latest(ko?: string): FailureGroup[] {
    return [...this.#groups.values()].reverse().filter(({ id }) => ko === undefined || koKey(id) === ko);
  }

  /** Forgets what is of knowledge objects that are not there any more. */
  async keepOnly(isThere: (id: KoId) => Promise<boolean>): Promise<void> {
    const known = new Map<string, Promise<boolean>>();
    for (const group of this.#groups.values().toArray()) {
      const ko = koKey(group.id);
      const answer = known.get(ko) ?? isThere(group.id);
      known.set(ko, answer);
      if (!(await answer)) this.#remove(group);
    }
  }

  #mayRead(): boolean {
    const second = Math.floor(uptime() / SECOND_MS);
    if (second !== this.#second) this.#messages = 0;
    this.#second = second;
    return ++this.#messages <= MOST_MESSAGES;
  }

  #makeRoom(key: string, name: string): void {
    const own = [...this.#groups.values()].filter(({ id, endpoint }) => endpoint === name && koKey(id) === key);
    // What happens often is not lost over what happened once.
    const [rarest] = own.toSorted((a, b) => a.count - b.count);
    const [oldest] = this.#groups.values();
    if (own.length >= MOST_OF_ENDPOINT && rarest !== undefined) this.#remove(rarest);
    else if (this.#groups.size >= MOST && oldest !== undefined) this.#remove(oldest);
  }

  #remove(group: KeptGroup): void {
    this.#groups.delete(group.key);
    if (this.#latest.get(group.kind) === group) this.#latest.delete(group.kind);
  }
}
