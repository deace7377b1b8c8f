/** What the index says, in memory: the KOs that are shown, those that have damage, and entries that cannot be read. */
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { packageDamaged, shelfNotReadable } from '../../lib/errors.ts';
import type { ChangeLog } from '../change-log.ts';
import { loadEntry, loadIndex, type LoadedIndex, type StoredKo, type Unreadable } from './load-index.ts';
import { keyOf } from './package-content.ts';
import { pointerName, type ShelfLayout } from './shelf-layout.ts';

export class LoadedPackages {
  readonly #layout: ShelfLayout;
  readonly #changes: ChangeLog;
  readonly #loaded: LoadedIndex = { kos: new Map(), unreadable: new Map() };
  readonly #damaged = new Set<StoredKo>();

  constructor(layout: ShelfLayout, changes: ChangeLog) {
    this.#layout = layout;
    this.#changes = changes;
    this.reload();
  }

  /** By `koKey`. */
  get kos(): ReadonlyMap<string, StoredKo> {
    return this.#loaded.kos;
  }

  /** By `koKey` or the name of the pointer file. */
  get unreadable(): ReadonlyMap<string, Unreadable> {
    return this.#loaded.unreadable;
  }

  /** Those that have damage. */
  get damaged(): ReadonlySet<StoredKo> {
    return this.#damaged;
  }

  /** Reads the index again, of all or of those whose keys are asked for. */
  reload(isAsked: (key: string) => boolean = () => true): void {
    const { kos, unreadable } = loadIndex(this.#layout, isAsked);
    const known = [...this.kos.keys(), ...this.unreadable.keys()];
    for (const key of known) if (isAsked(key) && !kos.has(key)) this.show(key, undefined);
    for (const [key, ko] of kos) this.show(key, ko);
    for (const [key, each] of unreadable) this.#loaded.unreadable.set(key, each);
  }

  /** Why an entry of the index cannot be opened. @throws packageDamaged; shelfNotReadable. */
  requireReadable(key: string): void {
    const found = this.unreadable.get(key);
    if (found?.transient === true)
      throw shelfNotReadable(`${key} cannot be read at the moment: ${found.cause}.`, found);
    if (found !== undefined) throw packageDamaged(`${key} is damaged on the shelf: ${found.cause}.`);
  }

  /** Looks again at an entry that could not be read. @returns whether it can be served now. */
  readAgain(id: KoId): boolean {
    const key = koKey(id);
    if (!this.unreadable.has(key)) return false;
    const found = loadEntry(this.#layout, pointerName(id));
    if ('cause' in found) this.#loaded.unreadable.set(key, found);
    else this.show(key, found);
    return !('cause' in found);
  }

  /** Shows a KO under its key, or none there. */
  show(key: string, ko: StoredKo | undefined): void {
    const { kos, unreadable } = this.#loaded;
    const before = kos.get(key);
    if (before !== undefined) this.#damaged.delete(before);
    if (ko === undefined) kos.delete(key);
    else kos.set(key, ko);
    if (ko?.damage !== undefined) this.#damaged.add(ko);
    unreadable.delete(key);
    const changed = ko ?? before;
    if (changed !== undefined && before?.content.entry.etag !== ko?.content.entry.etag)
      this.#changes.note(changed.content.entry.id);
  }

  setDamage(ko: StoredKo, cause: string | undefined): void {
    ko.damage = cause;
    if (cause === undefined || this.kos.get(keyOf(ko.content)) !== ko) this.#damaged.delete(ko);
    else this.#damaged.add(ko);
  }
}
