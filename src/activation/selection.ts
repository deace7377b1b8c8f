/** What a change of the endpoints is about, and when it is done. */
import { type KoId, koKey, type KoName, nameKey } from '../knowledge-object/id.ts';
import type { Shelf } from '../shelf/shelf.ts';
import type { LoadFailure } from './endpoint-set.ts';
import type { Endpoint } from './endpoint.ts';

/** What a change of the endpoints is about, in a form that can be sent to other activators. */
export type About =
  | { readonly what: 'all' }
  /** `also`: KOs of which it is about all endpoints, whatever their engines. */
  | { readonly what: 'engine'; readonly engine: string; readonly also?: readonly KoId[] }
  /** All its versions where none is given. */
  | { readonly what: 'ko'; readonly naan: string; readonly name: string; readonly version?: string | undefined }
  | { readonly what: 'kos'; readonly kos: readonly KoId[] };

/** What a change of the set takes in. */
export interface Selection {
  /** True for the KOs that it is about. */
  readonly ko: (id: KoId) => boolean;
  /** True for the engines that it is about, of such a KO. */
  engine(name: string, id: KoId): boolean;
  /** What it costs is up to these; undefined where it may be about any. */
  readonly names?: readonly KoName[];
  /** The KO that was asked for, which must be known. */
  readonly named?: string;
}

const ALL: Selection = { ko: () => true, engine: () => true };

export function selectionOf(about: About): Selection {
  switch (about.what) {
    case 'all':
      return ALL;
    case 'engine':
      return ofEngine(about.engine, about.also ?? []);
    case 'ko':
      return ofKo(about.naan, about.name, about.version);
    case 'kos':
      return ofKos(about.kos);
  }
}

function ofEngine(engine: string, also: readonly KoId[]): Selection {
  const keys = new Set(also.map(koKey));
  return { ...ALL, engine: (name, id) => name === engine || keys.has(koKey(id)) };
}

function ofKo(naan: string, name: string, version: string | undefined): Selection {
  return {
    ...ALL,
    ko: (id) => id.naan === naan && id.name === name && (version === undefined || id.version === version),
    names: [{ naan, name }],
    named: [naan, name, version].filter((part) => part !== undefined).join('/'),
  };
}

function ofKos(ids: readonly KoId[]): Selection {
  const keys = new Set(ids.map(koKey));
  const names = new Map(ids.map((id) => [nameKey(id), id]));
  return { ...ALL, ko: (id) => keys.has(koKey(id)), names: [...names.values()] };
}

/** Waits for the built-in endpoints however long they take, and for the others so many milliseconds. */
export async function decidedSoon(endpoints: readonly Endpoint[], waitMs: number): Promise<void> {
  const builtIn = Promise.all(endpoints.filter((each) => each.engine?.builtIn !== false).map((each) => each.decided));
  const all = Promise.all(endpoints.map((each) => each.decided));
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMs);
  await Promise.race([all, Promise.all([builtIn, late])]);
  clearTimeout(timer);
}

// The knowledge objects that are to be active, and their packages: all that lie on the shelf of one activator; what
// several activators agreed on, where they share a shelf.

/** `digest`: of its package, where that is known without opening it. */
export interface ListedKo {
  readonly id: KoId;
  readonly digest?: string;
}

export interface ActiveKos extends Pick<Shelf, 'open' | 'rescan' | 'readAgain' | 'damage'> {
  list(): Promise<readonly ListedKo[]>;
  /** Those of one KO, oldest first. */
  versions(naan: string, name: string): Promise<readonly ListedKo[]>;
  /**
   * When it was asked for that an endpoint be activated, where several activators do that: milliseconds since 1970. Without
   * it, an endpoint was activated when that was done here.
   */
  activated?(id: KoId, engine: string): number | undefined;
}

/** Which content a change of the endpoints made active. */
export interface BecameActive {
  /** `<naan>/<name>/<version>`. */
  readonly ko: string;
  /** Its `@id`, where that is another text. */
  readonly atId: string | undefined;
  /** Of its package, as the shelf has it: hex. */
  readonly digest: string;
  /** False where the same content was active before. */
  readonly isNew: boolean;
}

/** What a change of the endpoints came to. */
export interface ChangeOutcome {
  readonly active: readonly BecameActive[];
  /** Endpoints that it made. */
  readonly endpoints: number;
  /** Those of them that cannot be called, and knowledge objects of which none could be loaded. */
  readonly failed: readonly string[];
}

/** `made`: the endpoints of the change, `before`: those in whose place they are. */
export const outcomeOf = (
  made: readonly Endpoint[],
  before: readonly Endpoint[],
  failures: readonly LoadFailure[],
): ChangeOutcome => ({
  active: becameActive(made, before),
  endpoints: made.length,
  failed: [
    ...made.filter(({ status }) => status === 'FAILED_TO_ACTIVATE').map(({ id }) => id),
    ...failures.filter(({ isFault }) => isFault !== false).map(({ id }) => koKey(id)),
  ],
});

/** In the order of their places. `made`: the endpoints of the change, `before`: those in whose place they are. */
function becameActive(made: readonly Endpoint[], before: readonly Endpoint[]): BecameActive[] {
  const old = contentOf(before);
  return [...contentOf(made)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([ko, { atId, digest }]) => ({
      ko,
      atId: atId === ko ? undefined : atId,
      digest,
      isNew: old.get(ko)?.digest !== digest,
    }));
}

/** An endpoint of a runtime that is not decided yet counts as what is on its way. */
const contentOf = (endpoints: readonly Endpoint[]): Map<string, { readonly atId: string; readonly digest: string }> =>
  new Map(
    endpoints
      .filter(({ status }) => status !== 'FAILED_TO_ACTIVATE')
      .map(({ ko }) => [ko.key, { atId: ko.atId, digest: ko.entry.digest }]),
  );
