import { readdir } from 'node:fs/promises';
import { koKey, nameKey, parseKoId, type KoId, type KoName } from '../../knowledge-object/id.ts';
import { koNotFound, shelfNotWritable } from '../../lib/errors.ts';
import { fullDisk } from './full-disk.ts';
import type { ChangeLog } from '../change-log.ts';
import type {
  KoPackage,
  ListRange,
  RemovedPackage,
  Restored,
  RestoreOptions,
  Shelf,
  ShelfCondition,
  ShelfDamage,
  ShelfEntry,
  Staging,
} from '../shelf.ts';
import { Catalog } from './catalog.ts';
import { readOnlyShelf, shelfUnreadable, writing } from '../disk-errors.ts';
import type { DurableFiles } from './durable-files.ts';
import type { ExplodedPackages } from './exploded-packages.ts';
import type { Unreadable } from './load-index.ts';
import type { Owner } from './owner-lock.ts';
import type { KeptPackages } from './kept-packages.ts';
import { PackageIntake } from './package-intake.ts';
import type { RemovedFolder } from './removed-folder.ts';
import { RemovedPackages } from './removed-packages.ts';
import { SerialQueue } from '../../lib/serial-queue.ts';
import type { ShelfLayout } from './shelf-layout.ts';
import { isFor, requireMatch } from './rules-of-changes.ts';
import type { StoredPackages, Warn } from './stored-packages.ts';

export interface FileShelfParts {
  readonly defaultNaan: string;
  readonly layout: ShelfLayout;
  readonly disk: DurableFiles;
  readonly stored: StoredPackages;
  readonly exploded: ExplodedPackages;
  readonly changes: ChangeLog;
  readonly removed: RemovedFolder;
  readonly kept: KeptPackages;
  /** Undefined on a shelf that this process may only read. */
  readonly owner: Owner | undefined;
  readonly warn: Warn;
}

/** A shelf in a folder: KOs that were imported, and KOs that people put there as folders. */
export class FileShelf implements Shelf {
  readonly type = 'file';
  readonly created = new Date();
  readonly defaultNaan: string;
  readonly #parts: FileShelfParts;
  readonly #catalog: Catalog;
  readonly #intake: PackageIntake;
  readonly #removed: RemovedPackages;
  /** Writes to one KO follow each other; the last to be committed stays. */
  readonly #writes = new SerialQueue();
  #closed = false;

  constructor(parts: FileShelfParts) {
    this.#parts = parts;
    this.defaultNaan = parts.defaultNaan;
    this.#catalog = new Catalog(parts.stored.loaded, parts.exploded, parts.changes);
    this.#intake = new PackageIntake({ ...parts, entry: (id) => this.#entry(id) });
    this.#removed = new RemovedPackages({ ...parts, current: (id) => this.#entry(id)?.digest });
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  list(range?: ListRange): Promise<readonly ShelfEntry[]> {
    return Promise.resolve(this.#catalog.list(range));
  }

  find(id: KoId): Promise<ShelfEntry | undefined> {
    return Promise.resolve(this.#entry(id));
  }

  versions(naan: string, name: string): Promise<readonly ShelfEntry[]> {
    return Promise.resolve(this.#catalog.versions(naan, name));
  }

  withAtId(atId: string): Promise<readonly ShelfEntry[]> {
    return Promise.resolve(this.#catalog.withAtId(atId));
  }

  revision(): Promise<number> {
    return Promise.resolve(this.#parts.changes.revision);
  }

  changes(since: number): Promise<readonly KoId[] | undefined> {
    return Promise.resolve(this.#parts.changes.since(since));
  }

  async open(id: KoId): Promise<KoPackage | undefined> {
    const { stored, exploded } = this.#parts;
    await this.#refresh(id);
    // Nothing is awaited between finding a package and holding it, so that no writer can remove it.
    const ko = this.#catalog.find(koKey(id));
    if (ko !== undefined) return 'place' in ko ? exploded.open(ko) : stored.open(ko);
    stored.loaded.requireReadable(koKey(id));
    return undefined;
  }

  async stage(): Promise<Staging> {
    this.#requireWritable();
    return this.#intake.stage((id, staged) => this.#write(id, () => this.#intake.take(id, staged)));
  }

  replaceMetadata(id: KoId, metadata: string, ifMatch?: readonly string[]): Promise<ShelfEntry> {
    const { stored, exploded, kept } = this.#parts;
    return this.#write(id, async () => {
      await this.#refresh(id);
      const ko = this.#catalog.find(koKey(id));
      if (ko === undefined) throw koNotFound(koKey(id));
      requireMatch(ko.content.entry, ifMatch);
      if (!('place' in ko)) await stored.replaceMetadata(ko, metadata);
      else if (isFor(id, metadata)) {
        if (kept.keepsAny) await this.#intake.keepCopy(ko);
        await exploded.replaceMetadata(ko, metadata);
      }
      // "Later PUTs of metadata never move a KO": a folder whose metadata names another id could not keep its own.
      else await this.#intake.copy(ko.content.entry.id, exploded.open(ko), metadata);
      return this.#catalog.find(koKey(id))?.content.entry ?? ko.content.entry;
    });
  }

  remove(id: KoId, ifMatch?: readonly string[]): Promise<void> {
    const { stored, exploded } = this.#parts;
    const key = koKey(id);
    return this.#write(id, async () => {
      await this.#refresh(id);
      const ko = this.#catalog.find(koKey(id));
      if (ko === undefined && !stored.loaded.unreadable.has(key)) throw koNotFound(key);
      requireMatch(ko?.content.entry, ifMatch);
      await exploded.moveAway(key, 'deleted');
      if (stored.loaded.kos.has(key) || stored.loaded.unreadable.has(key)) await stored.remove(id);
    });
  }

  removed(id?: KoId): Promise<readonly RemovedPackage[]> {
    return this.#removed.list(id);
  }

  async openRemoved(id: KoId, digest: string): Promise<KoPackage> {
    const chosen = await this.#removed.find(id, digest);
    if (chosen.folder === undefined) return this.#removed.exploded(chosen);
    return this.#parts.stored.open(await this.#removed.stored(chosen));
  }

  restore(id: KoId, { digest, ifMatch }: RestoreOptions = {}): Promise<Restored> {
    return this.#write(id, async () => {
      await this.#refresh(id);
      const before = this.#entry(id);
      if (before !== undefined && before.digest === digest) {
        requireMatch(before, ifMatch);
        return { entry: before, replaced: undefined };
      }
      const chosen = await this.#removed.find(id, digest);
      requireMatch(before, ifMatch);
      const entry =
        chosen.folder === undefined
          ? await this.#intake.copy(id, await this.#removed.exploded(chosen))
          : await this.#intake.adopt(await this.#removed.stored(chosen));
      return { entry, replaced: before?.digest };
    });
  }

  async discardRemoved(): Promise<number> {
    if (this.#parts.owner === undefined || this.#closed) return 0;
    this.#requireOwner();
    let gone = 0;
    for (const id of await this.#removed.ids())
      gone += await this.#writes.run(koKey(id), () => this.#removed.discard(id));
    return gone;
  }

  async rescan(names?: readonly KoName[]): Promise<void> {
    const { stored, exploded, owner } = this.#parts;
    const keys = new Set(names?.map(nameKey));
    const isAsked = (key: string): boolean => names === undefined || keys.has(key.slice(0, key.lastIndexOf('/')));
    if (owner === undefined) stored.loaded.reload(isAsked);
    else await this.#readEntriesAgain((_entry, key) => isAsked(key));
    await stored.verifyDamaged(isAsked);
    await exploded.scan(names);
  }

  async readAgain(): Promise<readonly KoId[]> {
    const entries = await this.#readEntriesAgain(({ transient }) => transient);
    return [...entries, ...(await this.#parts.exploded.readAgain())];
  }

  damage(): readonly ShelfDamage[] {
    return this.#catalog.damage();
  }

  condition(): ShelfCondition {
    const { removed, owner, layout } = this.#parts;
    const problem = this.#closed || owner === undefined ? undefined : (owner.problem() ?? fullDisk(layout.root));
    return { problem, details: { removed: removed.size } };
  }

  async check(): Promise<void> {
    const { layout, owner } = this.#parts;
    try {
      await readdir(layout.root);
      // Where another one lies in its place, that is a matter of writing: what was loaded can still be read.
      if (owner !== undefined && owner.problem() === undefined) await readdir(layout.index);
    } catch (thrown) {
      throw shelfUnreadable(thrown);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#writes.idle();
    await this.#parts.exploded.settled();
    await this.#parts.stored.settled();
    this.#parts.owner?.release();
  }

  /** Entries of the index that could not be read. @returns those that can be served now. */
  async #readEntriesAgain(which: (entry: Unreadable, key: string) => boolean): Promise<KoId[]> {
    const { stored } = this.#parts;
    const found: KoId[] = [];
    for (const [key, entry] of stored.loaded.unreadable) {
      const id = which(entry, key) ? parseKoId(key) : undefined;
      if (id === undefined) continue;
      // In turn with writes, one of which may just have replaced it.
      await this.#writes.run(key, () => {
        if (stored.loaded.readAgain(id)) found.push(id);
        return Promise.resolve();
      });
    }
    return found;
  }

  /** Looks again at a folder that a person has changed. */
  async #refresh(id: KoId): Promise<void> {
    const ko = this.#catalog.find(koKey(id));
    if (ko === undefined || !('place' in ko)) return;
    if (await this.#parts.exploded.hasChanged(ko)) await this.#parts.exploded.scan([id]);
  }

  #entry(id: KoId): ShelfEntry | undefined {
    return this.#catalog.find(koKey(id))?.content.entry;
  }

  async #write<T>(id: KoId, work: () => Promise<T>): Promise<T> {
    this.#requireWritable();
    return this.#writes.run(koKey(id), async () => {
      this.#requireOwner();
      try {
        return await writing(work);
      } finally {
        await this.#removed.discard(id);
      }
    });
  }

  #requireWritable(): void {
    if (this.#parts.owner === undefined) throw readOnlyShelf();
    if (this.#closed) throw shelfNotWritable('The shelf is closed: the activator is stopping.');
    this.#requireOwner();
  }

  #requireOwner(): void {
    const problem = this.#parts.owner?.problem();
    if (problem !== undefined) throw shelfNotWritable(`${problem}.`);
  }
}
