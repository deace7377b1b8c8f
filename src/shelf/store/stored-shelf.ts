/** A shelf in a folder: KOs that were imported, in rows and objects, and KOs that people put there as folders. */
import { join } from 'node:path';
import { readdir, writeFile } from 'node:fs/promises';
import { koKey, nameKey, type KoId, type KoName } from '../../knowledge-object/id.ts';
import { METADATA_FILE, otherAtId } from '../../knowledge-object/metadata.ts';
import { koNotFound, shelfNotWritable } from '../../lib/errors.ts';
import { SerialQueue } from '../../lib/serial-queue.ts';
import type { ChangeLog } from '../change-log.ts';
import { readOnlyShelf, shelfUnreadable, writing } from '../disk-errors.ts';
import type { DurableFiles } from './durable-files.ts';
import type { UnpackedKo, UnpackedPackages } from '../unpacked/unpacked-packages.ts';
import { fullDisk } from './full-disk.ts';
import type { Owner } from './owner-lock.ts';
import { artifactsOf, describePackage, type PackageContent } from '../package/package-content.ts';
import type { RemovedFolder } from '../unpacked/removed-folder.ts';
import { copyFiles, isFor, requireMatch } from '../package/rules-of-changes.ts';
import { StagedPackage, type Publish } from '../package/staged-package.ts';
import { requirePlace } from '../require-place.ts';
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
import type { OpenChange, ShelfChanges } from './changes.ts';
import type { ChangeAction } from '../change-record.ts';
import type { Database } from './database.ts';
import type { ObjectsFolder, Source, Stored } from './objects-folder.ts';
import { renderListing } from './package-listing.ts';
import { isNamed, namedObjects } from './packages.ts';
import type { ReadOnlyCopy } from './read-only-copy.ts';
import type { Retained } from './retained.ts';
import type { StoredKos } from './stored-kos.ts';
import { StoredPackages } from './stored-packages.ts';

export type Warn = (message: string, cause?: unknown) => void;

export interface StoredShelfParts {
  readonly defaultNaan: string;
  readonly root: string;
  /** File that says how far the database was. */
  readonly noted: string;
  /** Where packages lie until they are committed. */
  readonly staging: string;
  readonly disk: DurableFiles;
  readonly database: Database;
  readonly objects: ObjectsFolder;
  readonly kos: StoredKos;
  readonly changes: ShelfChanges;
  readonly retained: Retained;
  readonly folders: UnpackedPackages;
  readonly log: ChangeLog;
  readonly removed: RemovedFolder;
  /** Undefined on a shelf that this process may only read. */
  readonly owner: Owner | undefined;
  /** Of such a shelf: brings the database level with what lies there now. */
  readonly copy: ReadOnlyCopy | undefined;
  /** Why nothing can be written, though nobody said that nothing shall be. */
  readonly problem: string | undefined;
  /** False in a run in which the database was made, repaired or restored: then nothing counts as left over. */
  readonly mayCollect: boolean;
  readonly warn: Warn;
}

export class StoredShelf implements Shelf {
  readonly type = 'file';
  readonly created = new Date();
  readonly defaultNaan: string;
  readonly #parts: StoredShelfParts;
  readonly #packages: StoredPackages;
  readonly #catalog: Catalog;
  /** Writes to one KO follow each other; the last to be committed stays. */
  readonly #writes = new SerialQueue();
  #noting: Promise<void> | undefined;
  #closed = false;

  constructor(parts: StoredShelfParts) {
    this.#parts = parts;
    this.defaultNaan = parts.defaultNaan;
    this.#packages = new StoredPackages(parts.database, parts.objects, (id) => parts.kos.find(id));
    this.#catalog = new Catalog(parts.kos, parts.folders, parts.log);
  }

  get database(): Database {
    return this.#parts.database;
  }

  /** Whether what is written into its database is there after this process. */
  get keepsAudit(): boolean {
    return this.#parts.copy?.isTemporary !== true;
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  list(range?: ListRange): Promise<readonly ShelfEntry[]> {
    return Promise.resolve(this.#catalog.entries.list(range));
  }

  find(id: KoId): Promise<ShelfEntry | undefined> {
    return Promise.resolve(this.#catalog.find(id));
  }

  versions(naan: string, name: string): Promise<readonly ShelfEntry[]> {
    return Promise.resolve(this.#catalog.entries.versions(naan, name));
  }

  withAtId(atId: string): Promise<readonly ShelfEntry[]> {
    return Promise.resolve(this.#catalog.entries.withAtId(atId));
  }

  revision(): Promise<number> {
    return Promise.resolve(this.#parts.log.revision);
  }

  changes(since: number): Promise<readonly KoId[] | undefined> {
    return Promise.resolve(this.#parts.log.since(since));
  }

  async open(id: KoId): Promise<KoPackage | undefined> {
    await this.#refresh(id);
    const folder = this.#catalog.folder(id);
    if (folder !== undefined) return this.#parts.folders.open(folder);
    const entry = this.#parts.kos.find(id);
    return entry && (await this.#packages.open(entry, () => this.#writes.run(koKey(id), () => Promise.resolve())));
  }

  async stage(): Promise<Staging> {
    this.#requireWritable();
    return this.#stage((id, staged) => this.#write(id, () => this.#take(id, staged)));
  }

  replaceMetadata(id: KoId, metadata: string, ifMatch?: readonly string[]): Promise<ShelfEntry> {
    const { folders, retained } = this.#parts;
    return this.#write(id, async () => {
      await this.#refresh(id);
      const entry = this.#catalog.find(id);
      if (entry === undefined) throw koNotFound(koKey(id));
      requireMatch(entry, ifMatch);
      const folder = this.#catalog.folder(id);
      if (folder === undefined) return this.#replaceStored(entry, metadata);
      if (isFor(id, metadata)) {
        if (retained.isKept) await this.#retainFolder(folder, 'replaced');
        await folders.replaceMetadata(folder, metadata);
        return this.#catalog.find(id) ?? entry;
      }
      // "Later PUTs of metadata never move a KO": a folder whose metadata names another id could not keep its own.
      return this.#copy(id, folders.open(folder), metadata);
    });
  }

  remove(id: KoId, ifMatch?: readonly string[]): Promise<void> {
    return this.#write(id, async () => {
      await this.#refresh(id);
      const entry = this.#catalog.find(id);
      if (entry === undefined) throw koNotFound(koKey(id));
      requireMatch(entry, ifMatch);
      const folder = this.#catalog.folder(id);
      if (folder !== undefined) await this.#retainFolder(folder, 'deleted', 'delete');
      else await this.#change(id, 'delete', (change) => change.remove());
      await this.#parts.folders.moveAway(koKey(id));
    });
  }

  async removed(id?: KoId): Promise<readonly RemovedPackage[]> {
    const { retained, database } = this.#parts;
    const { stay } = await writing(() => retained.sorted(database.query, id));
    // What a folder of a person has now is not among it, as what a row has is not.
    return stay.filter((each) => this.#catalog.find(each.id)?.digest !== each.digest);
  }

  async openRemoved(id: KoId, digest: string): Promise<KoPackage> {
    const { retained, database } = this.#parts;
    const chosen = await writing(() => retained.find(database.query, id, digest));
    return this.#packages.openRetained(await this.#packages.retained(chosen));
  }

  restore(id: KoId, { digest, ifMatch }: RestoreOptions = {}): Promise<Restored> {
    const { retained, database } = this.#parts;
    return this.#write(id, async () => {
      await this.#refresh(id);
      const before = this.#catalog.find(id);
      if (before !== undefined && before.digest === digest) {
        requireMatch(before, ifMatch);
        return { entry: before, replaced: undefined };
      }
      const chosen = await retained.find(database.query, id, digest);
      requireMatch(before, ifMatch);
      const content = await this.#packages.retained(chosen);
      const folder = this.#catalog.folder(id);
      if (folder !== undefined) await this.#retainFolder(folder, 'replaced');
      await this.#change(id, 'restore', (change) => change.put(content));
      if (folder !== undefined) await this.#moveFormerFolder(id);
      return { entry: content.entry, replaced: before?.digest };
    });
  }

  async discardRemoved(): Promise<number> {
    const { owner, retained, database, changes } = this.#parts;
    if (owner === undefined || this.#closed) return 0;
    this.#requireOwner();
    return writing(async () => {
      const { go } = await retained.sorted(database.query);
      let gone = 0;
      for (const id of new Map(go.map(({ id }) => [koKey(id), id])).values())
        gone += await database.transaction(({ query }) => changes.discard(query, id));
      await this.collect();
      return gone;
    });
  }

  /** Notes how far the database is, so that one that was put back from a backup is known by it. */
  #note(): void {
    this.#noting ??= (async () => {
      await Promise.resolve();
      const { rows } = await this.#parts.database.query<{ revision: number }>('SELECT revision FROM state');
      this.#noting = undefined;
      await writeFile(this.#parts.noted, String(rows[0]?.revision ?? 0));
    })().catch(() => (this.#noting = undefined));
  }

  /** Deletes objects that nothing names. @returns how many. */
  async collect(now?: number): Promise<number> {
    const { database, objects, mayCollect } = this.#parts;
    if (!mayCollect) return 0;
    const named = await namedObjects(database.query, database.dialect);
    return objects.collect((digest) => named.has(digest) || this.#packages.isHeld(digest), now);
  }

  async rescan(names?: readonly KoName[]): Promise<void> {
    const { copy, kos, database } = this.#parts;
    if ((await copy?.update()) === true) await kos.load(database.query, database.dialect.schema);
    const keys = new Set(names?.map(nameKey));
    await this.#packages.lookAgain((key) => names === undefined || keys.has(key.slice(0, key.lastIndexOf('/'))));
    await this.#parts.folders.scan(names);
  }

  readAgain(): Promise<readonly KoId[]> {
    return this.#parts.folders.readAgain();
  }

  damage(): readonly ShelfDamage[] {
    return [...this.#packages.damage(), ...this.#parts.folders.damage, ...this.#catalog.duplicates()];
  }

  condition(): ShelfCondition {
    const { removed, owner, root } = this.#parts;
    const lost = owner === undefined ? this.#parts.problem : (owner.problem() ?? fullDisk(root));
    return { problem: this.#closed ? undefined : lost, details: { removed: removed.size } };
  }

  async check(): Promise<void> {
    try {
      await readdir(this.#parts.root);
      await this.#parts.database.query('SELECT 1');
    } catch (thrown) {
      throw shelfUnreadable(thrown);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#writes.idle();
    await this.#parts.folders.settled();
    await this.#noting;
    await this.#parts.database[Symbol.asyncDispose]();
    await this.#parts.copy?.[Symbol.asyncDispose]();
    this.#parts.owner?.release();
  }

  #stage(publish: Publish): Promise<StagedPackage> {
    return StagedPackage.create(join(this.#parts.staging, crypto.randomUUID()), this.#parts.disk, publish);
  }

  async #take(id: KoId, staged: StagedPackage): Promise<ShelfEntry> {
    const content = await staged.describe(id);
    const there = this.#catalog.find(id);
    requirePlace(content.entry, there);
    await this.#storing(content, staged, async () => {
      const folder = this.#catalog.folder(id);
      if (folder !== undefined) await this.#retainFolder(folder, 'replaced');
      await this.#change(id, 'import', async (change) => {
        if (change.before?.etag !== content.entry.etag) await change.put(content);
      });
    });
    this.#packages.isWhole(id);
    if (there?.digest !== content.entry.digest) staged.replaced = there?.digest;
    await this.#moveFormerFolder(id);
    return content.entry;
  }

  async #copy(id: KoId, from: KoPackage, metadata: string): Promise<ShelfEntry> {
    await using staged = await this.#stage((_id, each) => this.#take(id, each));
    await copyFiles(from, staged, metadata);
    return await staged.commit(id);
  }

  async #replaceStored(entry: ShelfEntry, metadata: string): Promise<ShelfEntry> {
    const opened = await this.#packages.open(entry);
    try {
      const stored = { entry, artifactsDigest: '', files: opened.files } as PackageContent;
      const content = describePackage(entry.id, metadata, artifactsOf(stored), otherAtId(entry.id, metadata));
      if (content.entry.etag === entry.etag) return entry;
      await this.#storing(content, undefined, () =>
        this.#change(entry.id, 'replace metadata', (change) => change.put(content)),
      );
      return content.entry;
    } finally {
      opened.release();
    }
  }

  /** Makes a package of what lies in the folder of a person, so that it may come back when it is gone there. */
  async #retainFolder(folder: UnpackedKo, why: 'deleted' | 'replaced', action?: ChangeAction): Promise<void> {
    const { folders, retained } = this.#parts;
    const { entry } = folder.content;
    if (!retained.isKept) return;
    await using staged = await this.#stage(async (id, each) => {
      const content = await each.describe(id);
      await this.#storing(content, each, () => this.#change(id, action, (change) => change.retain(content, why)));
      return entry;
    });
    await copyFiles(folders.open(folder), staged);
    await staged.commit(entry.id);
  }

  /** Stores the files of a package before the rows that name them; where these do not come, they go again. */
  async #storing(
    content: PackageContent,
    staged: StagedPackage | undefined,
    write: () => Promise<unknown>,
  ): Promise<void> {
    const { objects, database } = this.#parts;
    const listing = renderListing(content.entry.id, content.files.values());
    const sources: Source[] = [
      { sha256: listing.digest, size: Buffer.byteLength(listing.text), from: { text: listing.text }, isListing: true },
    ];
    for (const { path, sha256, size } of content.files.values()) {
      if (path === METADATA_FILE) sources.push({ sha256, size, from: { text: content.entry.metadata } });
      else if (staged !== undefined) sources.push({ sha256, size, from: { path: join(staged.content, path) } });
    }
    const stored: Stored = await objects.put(sources, (digest) => isNamed(database.query, database.dialect, digest));
    try {
      await write();
      stored.release();
    } catch (thrown) {
      await stored.discard();
      throw thrown;
    }
  }

  #change<T>(id: KoId, action: ChangeAction | undefined, work: (change: OpenChange) => Promise<T>): Promise<T> {
    return this.#parts.changes.run(id, action, work);
  }

  async #moveFormerFolder(id: KoId): Promise<void> {
    try {
      await this.#parts.folders.moveAway(koKey(id));
    } catch (thrown) {
      this.#parts.warn(`${koKey(id)} was imported, but its former folder could not be moved to .removed`, thrown);
    }
  }

  /** Looks again at a folder that a person has changed. */
  async #refresh(id: KoId): Promise<void> {
    const folder = this.#catalog.folder(id);
    if (folder !== undefined && (await this.#parts.folders.hasChanged(folder))) await this.#parts.folders.scan([id]);
  }

  async #write<T>(id: KoId, work: () => Promise<T>): Promise<T> {
    this.#requireWritable();
    return this.#writes.run(koKey(id), async () => {
      this.#requireOwner();
      const result = await writing(work);
      this.#note();
      return result;
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
