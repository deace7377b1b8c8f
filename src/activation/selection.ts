/** What a change of the endpoints is about, and when it is done. */
import { koKey, nameKey } from '../knowledge-object/id.ts';
import type { KoId, KoName } from '../knowledge-object/id.ts';
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
