/** What is on the shelf, by rows or in folders of people, as one. Of one id the row counts, else the first folder. */
import { escapeForMessage } from '../../knowledge-object/escape-for-message.ts';
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import type { ChangeLog } from '../change-log.ts';
import { EntryIndex } from '../entry-index.ts';
import type { UnpackedKo, UnpackedPackages } from '../unpacked/unpacked-packages.ts';
import type { ShelfDamage, ShelfEntry } from '../shelf.ts';
import type { StoredKos } from './stored-kos.ts';

const NONE: readonly UnpackedKo[] = [];

export class Catalog {
  readonly entries: EntryIndex;
  readonly #stored: StoredKos;
  readonly #folders: UnpackedPackages | undefined;
  readonly #changes: ChangeLog;
  /** By `koKey`: folders whose id is that of what is served in their place. */
  readonly #hidden = new Map<string, readonly ShelfDamage[]>();
  #seen: { readonly revision: number; readonly folders: readonly UnpackedKo[] } | undefined;

  /** `changes`: of both. */
  constructor(stored: StoredKos, folders: UnpackedPackages | undefined, changes: ChangeLog) {
    this.#stored = stored;
    this.#folders = folders;
    this.#changes = changes;
    this.entries = new EntryIndex({ find: (id) => this.find(id), all: () => this.#all() }, changes);
  }

  find(id: KoId): ShelfEntry | undefined {
    return this.#stored.find(id) ?? this.#folders?.served.get(koKey(id))?.content.entry;
  }

  /** The folder that is served under an id; undefined where a row is, or nothing. */
  folder(id: KoId): UnpackedKo | undefined {
    return this.#stored.find(id) === undefined ? this.#folders?.served.get(koKey(id)) : undefined;
  }

  /** In the order of the folders; looked for only where something changed since. */
  duplicates(): ShelfDamage[] {
    const { revision } = this.#changes;
    const folders = this.#folders?.folders ?? NONE;
    const changed = this.#seen?.folders === folders ? this.#changes.since(this.#seen.revision) : undefined;
    this.#seen = { revision, folders };
    if (changed === undefined) this.#hidden.clear();
    for (const id of changed ?? folders.map(({ content }) => content.entry.id)) this.#lookAt(id);
    return [...this.#hidden.values()].flat().sort((a, b) => (a.where < b.where ? -1 : 1));
  }

  #lookAt(id: KoId): void {
    const key = koKey(id);
    const serving = this.find(id);
    const folder = this.folder(id);
    const hidden = serving === undefined ? [] : (this.#folders?.foldersOf(key) ?? []).filter((each) => each !== folder);
    if (serving === undefined || hidden.length === 0) return void this.#hidden.delete(key);
    const other = folder === undefined ? 'a package that was imported' : `the folder ${folder.where}`;
    const its = atIdOf(serving);
    const causeFor = ({ content }: UnpackedKo): string =>
      atIdOf(content.entry) === its
        ? `its "@id" ${its} is that of ${other}; remove one of the two`
        : `its "@id" ${atIdOf(content.entry)} falls on the place ${key}, as does ${its} of ${other}; give one of the two another name or version`;
    this.#hidden.set(
      key,
      hidden.map((each) => ({ where: each.where, cause: causeFor(each) })),
    );
  }

  *#all(): Generator<ShelfEntry> {
    yield* this.#stored.all();
    for (const { content } of this.#folders?.served.values() ?? [])
      if (this.#stored.find(content.entry.id) === undefined) yield content.entry;
  }
}

const atIdOf = ({ atId, id }: ShelfEntry): string => escapeForMessage(atId ?? koKey(id));
