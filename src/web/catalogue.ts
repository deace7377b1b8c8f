/** The knowledge objects as people look for them: all versions of one together, found by words, a page at a time. */
import { setImmediate as othersFirst } from 'node:timers/promises';
import type { Activator } from '../activation/activator.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { Grants } from '../identity/grants.ts';
import { aboutKo } from '../knowledge-object/about-ko.ts';
import { koKey, nameKey } from '../knowledge-object/id.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { isFoundBy, searchTextOf } from '../lib/search.ts';
import type { Shelf, ShelfEntry } from '../shelf/shelf.ts';
import { isBad, STATES, statesIn, worstOf } from './states.ts';
import type { KoState, TellState } from './states.ts';

export interface CatalogueOptions {
  readonly shelf: Shelf;
  readonly activator: Activator;
  /** The same text as long as neither the shelf nor what is active changed. */
  readonly token: () => Promise<string>;
}

export interface CatalogueQuery {
  readonly search: string;
  /** From 1. */
  readonly page: number;
  readonly limit: number;
  readonly state: KoState | undefined;
  /** Whether those come first with which somebody has something to do. */
  readonly badFirst: boolean;
  readonly grants: Grants;
}

interface Version {
  readonly id: KoId;
  /** That of the shelf, else what runs. */
  readonly entry: ShelfEntry;
  readonly endpoints: readonly Endpoint[];
  readonly state: KoState;
}

interface Row {
  readonly name: string;
  readonly title: string;
  readonly search: string;
  /** The oldest first. */
  readonly versions: readonly Version[];
  readonly state: KoState;
}

/** Knowledge objects that are read before other requests have their turn. */
const BLOCK = 200;
const MOST_VERSIONS = 20;
const MOST_KEYWORDS = 6;
const MOST_CHARACTERS = 240;

export class Catalogue {
  readonly #options: CatalogueOptions;
  readonly #words = new WeakMap<ShelfEntry, { readonly title: string; readonly search: string }>();
  #made: { readonly token: string; readonly rows: Promise<readonly Row[]> } | undefined;

  constructor(options: CatalogueOptions) {
    this.#options = options;
  }

  async find({ search, page, limit, state, badFirst, grants }: CatalogueQuery): Promise<object> {
    const token = await this.#options.token();
    if (this.#made?.token !== token) this.#made = { token, rows: this.#rows() };
    const { rows } = this.#made;
    const made = await rows.catch((thrown: unknown) => {
      this.#made = undefined;
      throw thrown;
    });
    const all = grants.everywhere('read') ? made : made.flatMap((row) => this.#seen(row, grants));
    const isFound = (row: Row): boolean =>
      (state === undefined || row.versions.some((each) => each.state === state)) && isFoundBy(row.search, search);
    const found = all.filter(isFound);
    const [bad, good] = badFirst ? [true, false].map((each) => found.filter((row) => isBad(row.state) === each)) : [];
    const ordered = [...(bad ?? []), ...(good ?? found)];
    return {
      total: all.length,
      found: found.length,
      page,
      pages: Math.ceil(found.length / limit),
      states: Object.fromEntries(STATES.map((each) => [each, all.filter((row) => row.state === each).length])),
      kos: ordered.slice((page - 1) * limit, page * limit).map(toShown),
    };
  }

  async #rows(): Promise<Row[]> {
    const { shelf, activator } = this.#options;
    const { set } = activator;
    const entries = new Map((await shelf.list()).map((entry) => [koKey(entry.id), entry]));
    const endpoints = Map.groupBy(set.endpoints, ({ ko }) => ko.key);
    const tell = statesIn(set);
    const versions: Version[] = [];
    for (const [key, entry] of entries) {
      versions.push(toVersion(entry, entry, endpoints.get(key) ?? [], tell));
      // What words it has is known until it changes; what is new costs time.
      if (!this.#words.has(entry)) this.#words.set(entry, wordsOf(entry));
      if (versions.length % BLOCK === 0) await othersFirst();
    }
    for (const [key, [first, ...rest]] of endpoints)
      if (first !== undefined && !entries.has(key))
        versions.push(toVersion(undefined, first.ko.entry, [first, ...rest], tell));
    const rows = [...Map.groupBy(versions, ({ id }) => nameKey(id))].map(([name, all]) => this.#row(name, all));
    return rows.sort((a, b) => compare(a.title.toLowerCase(), b.title.toLowerCase()) || compare(a.name, b.name));
  }

  /** Without the versions that whoever asks may not read. */
  #seen({ name, versions }: Row, grants: Grants): Row[] {
    const seen = versions.filter(({ id }) => grants.allow('read', id));
    return seen.length === 0 ? [] : [this.#row(name, seen)];
  }

  #row(name: string, versions: readonly Version[]): Row {
    const words = versions.map(({ entry }) => this.#words.get(entry) ?? wordsOf(entry));
    const names = versions.flatMap(({ endpoints }) => endpoints.flatMap(({ id, entry }) => [id, entry.engine]));
    return {
      name,
      title: words.at(-1)?.title ?? name,
      search: searchTextOf([...words.map(({ search }) => search), ...new Set(names)]),
      versions,
      state: worstOf(versions.map(({ state }) => state)),
    };
  }
}

const toVersion = (
  onShelf: ShelfEntry | undefined,
  entry: ShelfEntry,
  endpoints: readonly Endpoint[],
  tell: TellState,
): Version => ({ id: entry.id, entry, endpoints, state: tell(entry.id, onShelf, endpoints) });

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function wordsOf({ id, atId, metadata }: ShelfEntry): { readonly title: string; readonly search: string } {
  const { title = atId ?? koKey(id), keywords } = aboutKo(metadata);
  return { title, search: searchTextOf([koKey(id), title, keywords, atId]) };
}

const cut = (text: string): string => (text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text);

function toShown({ name, title, versions, state }: Row): object {
  // What runs says what it is, rather than what is to come.
  const shown = versions.findLast((each) => each.state === 'active') ?? versions.at(-1);
  const { description, keywords } = aboutKo(shown?.entry.metadata ?? '');
  return {
    name,
    title: cut(title),
    ...(description === undefined ? {} : { description: cut(description) }),
    keywords: keywords.slice(0, MOST_KEYWORDS).map(cut),
    engines: [...new Set(shown?.endpoints.map(({ engine, entry }) => engine?.name ?? entry.engine))],
    state,
    shown: shown === undefined ? undefined : koKey(shown.id),
    versions: versions.slice(-MOST_VERSIONS).map((each) => ({ version: each.id.version, state: each.state })),
  };
}
