/** A shelf by a database: KOs that were imported, in rows and objects, and KOs that people put as folders beside it. */
import { join } from 'node:path';
import { koKey, nameKey, type KoId, type KoName } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { koNotFound, messageOf, shelfNotReadable, shelfNotWritable } from '../../lib/errors.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import { ChangeAuthor, type ChangeAction } from '../change-author.ts';
import { readOnlyShelf, writing } from '../disk-errors.ts';
import type { DurableFiles } from './durable-files.ts';
import { isAtHome } from '../entry-of-at-id.ts';
import type { FolderPackages } from '../unpacked/folder-packages.ts';
import type { PlacedArchives } from '../unpacked/placed-archives.ts';
import { sha256, type HashedFile, type PackageContent } from '../package/package-content.ts';
import { admit, requirePlace } from '../package/admit.ts';
import { copyFiles, requireMatch, StagedPackage, type Publish } from '../package/staged-package.ts';
import type { JudgedPackage, Trust } from '../package/signatures/trust.ts';
import type { Verdict } from '../package/signatures/verdict.ts';
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
import type { Change, ShelfChanges } from './changes.ts';
import type { Database } from './database.ts';
import type { NodeId } from './nodes.ts';
import type { Objects, Stored } from './objects.ts';
import { textsOf } from './package-listing.ts';
import { forgetRemoved, isNamed, storedAt } from './packages.ts';
import type { Retained } from './retained.ts';
import type { StoredKos } from './stored-kos.ts';
import type { ShelfFollower } from './shelf-follower.ts';
import { StoredPackages, type FilesOf } from './stored-packages.ts';

export type Warn = (message: string, cause?: unknown) => void;

export interface StoredShelfParts {
  /** Shown in the health. */
  readonly type: 'file' | 'postgres';
  readonly defaultNaan: string;
  /** Where packages lie until they are committed. */
  readonly staging: string;
  readonly disk: DurableFiles;
  readonly database: Database;
  /** This activator, among those that share the database. */
  readonly node: NodeId;
  readonly objects: Objects;
  readonly filesOf: FilesOf;
  /** Keeps here which files a package has, that was just stored. */
  readonly keepFiles?: (digest: string, files: readonly HashedFile[]) => Promise<void>;
  readonly kos: StoredKos;
  readonly follower: ShelfFollower;
  readonly changes: ShelfChanges;
  readonly retained: Retained;
  /** Undefined where people put no folders beside the database. */
  readonly folders: FolderPackages | undefined;
  /** What people put beside the folders. */
  readonly archives?: PlacedArchives | undefined;
  /** Rejects where the database can never be used as it is. */
  readonly opened: Promise<void>;
  /** Revision at which it was opened; undefined where nobody puts anything there by hand. */
  readonly openedAt?: number;
  /** False in a run in which the database was made, repaired or restored: then nothing counts as left over. */
  readonly mayCollect: boolean;
  /** False of a shelf that this process may only read. */
  readonly mayWrite: boolean;
  /** Whether what is written into its database is there after this process. */
  readonly keepsAudit: boolean;
  /** @throws shelfNotWritable, or another error of the contract, where it is known that nothing can be written now. */
  readonly requireWritable: () => void;
  /** Brings what is known here level with what others, or people, did to the database. */
  readonly lookAgain: () => Promise<void>;
  /** Hears that a change was made. */
  readonly onChanged?: () => void;
  readonly condition: () => ShelfCondition;
  /** Rejects where the shelf cannot be read. */
  readonly check: () => Promise<void>;
  readonly warn: Warn;
  /** Ends what the shelf was opened with. */
  readonly close: () => Promise<void>;
}

export class StoredShelf implements Shelf {
  readonly type: 'file' | 'postgres';
  readonly created = new Date();
  readonly defaultNaan: string;
  readonly node: NodeId;
  /** Judges what comes onto the shelf. */
  trust: Trust | undefined;
  readonly #parts: StoredShelfParts;
  readonly #packages: StoredPackages;
  /** Writes to one KO follow each other; the last to be committed stays. */
  readonly #writes = new FairQueue({ perKey: 1 });
  #ready: Promise<void> | undefined;
  #closed = false;

  constructor(parts: StoredShelfParts) {
    this.#parts = parts;
    this.type = parts.type;
    this.defaultNaan = parts.defaultNaan;
    this.node = parts.node;
    const { filesOf, objects, kos, follower } = parts;
    this.#packages = new StoredPackages({
      ...{ filesOf, objects },
      find: (id) => kos.find(id),
      settled: async (id) => {
        await this.#writes.run(koKey(id), () => Promise.resolve());
        await follower.look();
      },
    });
  }

  get database(): Database {
    return this.#parts.database;
  }

  get objects(): Objects {
    return this.#parts.objects;
  }

  get keepsAudit(): boolean {
    return this.#parts.keepsAudit;
  }

  get openedAt(): number {
    return this.#parts.openedAt ?? Number.MAX_SAFE_INTEGER;
  }

  /** How far what is known here is: of the shelf, and of what is meant to be active. */
  get reached(): { readonly revision: number; readonly generation: number } {
    return this.#parts.follower.reached;
  }

  /** Hears that the shelf, or what is meant to be active, is other than before. */
  set onChange(listener: () => void) {
    this.#parts.follower.onChange = listener;
  }

  /** Hears that the database is not the one that was known, and does not go on from it. */
  set onOtherHistory(listener: (why: string) => void) {
    this.#parts.follower.onOtherHistory = listener;
  }

  ready(): Promise<void> {
    return (this.#ready ??= this.#open());
  }

  async #open(): Promise<void> {
    await this.#parts.opened;
    // Archives may lie on the shelf already.
    await this.#takeArchives(
      new ChangeAuthor({ who: 'kgrid-activator', login: 'start', requestId: '', remoteAddress: '' }),
    );
  }

  list(range?: ListRange): Promise<readonly ShelfEntry[]> {
    return this.#known(() => this.#parts.kos.list(range));
  }

  find(id: KoId): Promise<ShelfEntry | undefined> {
    return this.#known(() => this.#parts.kos.find(id));
  }

  versions(naan: string, name: string): Promise<readonly ShelfEntry[]> {
    return this.#known(() => this.#parts.kos.versions(naan, name));
  }

  withAtId(atId: string): Promise<readonly ShelfEntry[]> {
    return this.#known(() => this.#parts.kos.withAtId(atId));
  }

  revision(): Promise<number> {
    return this.#known(() => this.#parts.kos.changes);
  }

  changes(since: number): Promise<readonly KoId[] | undefined> {
    return this.#known(() => this.#parts.kos.since(since));
  }

  async open(id: KoId): Promise<KoPackage | undefined> {
    const folder = await this.#parts.folders?.open(id);
    if (folder !== undefined) return folder;
    const entry = await this.#known(() => this.#parts.kos.find(id));
    return entry && (await this.#packages.open(entry));
  }

  /**
   * The package of that digest, whether it lies on the shelf or did so once; undefined where it is stored no more. A folder
   * of a person has what lies in it now. @throws as `open`.
   */
  async openPackage(id: KoId, digest: string): Promise<KoPackage | undefined> {
    return (await this.#parts.folders?.open(id)) ?? this.#packages.openDigest(id, digest);
  }

  async stage(author?: ChangeAuthor): Promise<Staging> {
    this.#requireWritable();
    return this.#stage((id, staged) => this.#write(id, () => this.#take(id, staged, author)));
  }

  replaceMetadata(id: KoId, metadata: string, ifMatch?: readonly string[], author?: ChangeAuthor): Promise<ShelfEntry> {
    const { folders, kos } = this.#parts;
    return this.#write(id, async () => {
      const folder = await folders?.open(id);
      if (folder === undefined || folders === undefined) return this.#replaceStored(id, metadata, ifMatch, author);
      requireMatch(folder.entry, ifMatch);
      // "Later PUTs of metadata never move a KO": a folder whose metadata names another id could not keep its own.
      if (!isAtHome({ id, metadata })) return this.#copy(id, folder, metadata, author);
      await this.#retainFolder(folder, 'replaced');
      await folders.replaceMetadata(id, metadata);
      return kos.find(id) ?? folder.entry;
    });
  }

  remove(id: KoId, ifMatch?: readonly string[], author?: ChangeAuthor): Promise<void> {
    const { folders } = this.#parts;
    return this.#write(id, async () => {
      const take = (): Promise<void> =>
        this.#change(id, 'delete', author, async (change) => {
          if (change.before === undefined) throw koNotFound(koKey(id));
          requireMatch(change.before, ifMatch);
          await change.remove();
        });
      const folder = await folders?.open(id);
      if (folder !== undefined) {
        requireMatch(folder.entry, ifMatch);
        await this.#retainFolder(folder, 'deleted');
      }
      await (folders === undefined ? take() : folders.remove(id, take));
    });
  }

  async removed(id?: KoId): Promise<readonly RemovedPackage[]> {
    const { retained, database, kos } = this.#parts;
    const { stay } = await this.#writing(() => retained.sorted(database.query, id));
    // What a folder of a person has now is not among it, as what was imported is not.
    return stay.filter((each) => kos.find(each.id)?.digest !== each.digest);
  }

  async openRemoved(id: KoId, digest: string): Promise<KoPackage> {
    const { retained, database } = this.#parts;
    const chosen = await this.#writing(() => retained.find(database.query, id, digest));
    return this.#packages.openRetained(await this.#packages.retained(chosen));
  }

  restore(id: KoId, { digest, ifMatch, author }: RestoreOptions = {}): Promise<Restored> {
    const { retained, database, folders } = this.#parts;
    return this.#write(id, async () => {
      const folder = await folders?.open(id);
      if (folder !== undefined && folder.entry.digest !== digest) {
        await retained.find(database.query, id, digest);
        requireMatch(folder.entry, ifMatch);
        await this.#retainFolder(folder, 'replaced');
      }
      const restored = await this.#change(id, 'restore', author, async (change) => {
        const { before } = change;
        if (before !== undefined && before.digest === digest) {
          requireMatch(before, ifMatch);
          return { entry: before, replaced: undefined };
        }
        const chosen = await retained.find(change.query, id, digest);
        requireMatch(before, ifMatch);
        const content = await this.#packages.retained(chosen);
        await this.#requireTrustedAs(content, () => Promise.resolve(this.#packages.openRetained(content)));
        await change.put(content);
        return { entry: content.entry, replaced: before?.digest };
      });
      await this.#moveFormerFolder(id);
      return restored;
    });
  }

  async discardRemoved(): Promise<number> {
    const { mayWrite, requireWritable, retained, database, changes } = this.#parts;
    if (!mayWrite || this.#closed) return 0;
    requireWritable();
    return this.#writing(async () => {
      const { go } = await retained.sorted(database.query);
      let gone = 0;
      for (const id of new Map(go.map(({ id }) => [koKey(id), id])).values())
        gone += await database.transaction(({ query }) => changes.discard(query, id), { isExclusive: true });
      await forgetRemoved(database);
      await database.tidy();
      await this.collect();
      return gone;
    });
  }

  /** Deletes objects that nothing names. @returns how many. */
  async collect(now?: number): Promise<number> {
    if (!this.#parts.mayCollect) return 0;
    return this.#parts.objects.collect((digest) => this.#packages.isHeld(digest), now);
  }

  async rescan(names?: readonly KoName[], what: 'all' | 'new' = 'all', author?: ChangeAuthor): Promise<void> {
    const { folders, onChanged } = this.#parts;
    await this.#parts.lookAgain();
    if (what === 'new') {
      await folders?.scanNew();
      return onChanged?.();
    }
    const keys = new Set(names?.map(nameKey));
    await this.#packages.lookAgain((key) => names === undefined || keys.has(key.slice(0, key.lastIndexOf('/'))));
    await folders?.scan(names);
    await this.#takeArchives(author);
    onChanged?.();
  }

  readAgain(): Promise<readonly KoId[]> {
    return this.#parts.folders?.readAgain() ?? Promise.resolve([]);
  }

  async verify(id: KoId): Promise<ShelfDamage | undefined> {
    const { kos } = this.#parts;
    const entry = await this.#known(() => kos.find(id));
    // A folder is as people leave it.
    return entry && kos.folderOf(id) === undefined ? this.#packages.verify(entry) : undefined;
  }

  damage(): readonly ShelfDamage[] {
    return [...this.#packages.damage(), ...this.#folderDamage()];
  }

  #folderDamage(): readonly ShelfDamage[] {
    const { folders, archives } = this.#parts;
    return [...(folders?.damage() ?? []), ...(archives?.damage() ?? [])];
  }

  condition(): ShelfCondition {
    const { problem, details } = this.#parts.condition();
    const trustPolicy = this.trust?.problem;
    return {
      problem: this.#closed ? undefined : problem,
      details: { ...details, ...(trustPolicy === undefined ? {} : { trustPolicy }) },
    };
  }

  async check(): Promise<void> {
    await this.#known(() => undefined);
    await this.#parts.check();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#writes.idle();
    await this.#parts.folders?.settled();
    await this.#parts.follower[Symbol.asyncDispose]();
    await this.#parts.close();
  }

  async #takeArchives(author: ChangeAuthor | undefined): Promise<void> {
    const { folders, archives } = this.#parts;
    if (!this.#closed) await archives?.take(folders?.archives ?? [], this, author);
  }

  #stage(publish: Publish): Promise<StagedPackage> {
    return StagedPackage.create(join(this.#parts.staging, crypto.randomUUID()), this.#parts.disk, publish);
  }

  async #take(id: KoId, staged: StagedPackage, author: ChangeAuthor | undefined): Promise<ShelfEntry> {
    const content = await staged.admit(id, this.#parts.kos.find(id));
    await this.#requireTrusted(content, (path) => staged.read(path));
    await this.#storing(content, staged, async () => {
      const opened = await this.#parts.folders?.open(id);
      if (opened !== undefined) await this.#retainFolder(opened, 'replaced');
      await this.#change(id, 'import', author, async (change) => {
        const { before, folder } = change;
        requirePlace(content.entry, before);
        staged.replaced = before?.digest === content.entry.digest ? undefined : before?.digest;
        if (before?.etag !== content.entry.etag || folder !== undefined) await change.put(content);
      });
    });
    this.#packages.isWhole(id);
    await this.#moveFormerFolder(id);
    return content.entry;
  }

  async #copy(id: KoId, from: KoPackage, metadata: string, author: ChangeAuthor | undefined): Promise<ShelfEntry> {
    await using staged = await this.#stage((_id, each) => this.#take(id, each, author));
    await copyFiles(from, staged, metadata);
    return await staged.commit(id);
  }

  async #replaceStored(
    id: KoId,
    metadata: string,
    ifMatch: readonly string[] | undefined,
    author: ChangeAuthor | undefined,
  ): Promise<ShelfEntry> {
    const { filesOf } = this.#parts;
    return this.#change(id, 'replace metadata', author, async (change) => {
      const { before } = change;
      if (before === undefined) throw koNotFound(koKey(id));
      requireMatch(before, ifMatch);
      const files = await filesOf(before.digest);
      if (files === undefined) throw new Error(`the package of ${koKey(id)} has no list of files`);
      const content = admit(id, metadata, files);
      if (content.entry.etag === before.etag) return before;
      await this.#requireTrustedAs(content, () => this.#packages.open(before, false));
      await this.#storing(content, undefined, () => change.put(content));
      return content.entry;
    });
  }

  /** When a package of this digest was first recorded here; now, where none was. */
  async admitted(digest: string): Promise<Date> {
    const { database } = this.#parts;
    return (await storedAt(database.query, database.dialect, digest)) ?? new Date();
  }

  /** The verdict on an open package; undefined where nobody asks. @throws packageNotTrusted. */
  async requireTrusted(pkg: KoPackage): Promise<Verdict | undefined> {
    if (this.trust?.isAsked !== true) return undefined;
    return this.trust.require(await this.#asJudged(pkg));
  }

  /** The verdict on a package, as `requireTrusted`, that refuses nothing. */
  async judge(pkg: KoPackage): Promise<Verdict | undefined> {
    return this.trust?.isAsked === true ? this.trust.judge(await this.#asJudged(pkg)) : undefined;
  }

  async #asJudged(pkg: KoPackage): Promise<JudgedPackage> {
    const files: HashedFile[] = [];
    for (const file of pkg.files.values())
      files.push({ ...file, sha256: pkg.digestOf(file.path) ?? sha256(await pkg.read(file.path)) });
    const { id, digest } = pkg.entry;
    return { id, files, read: (path) => pkg.read(path), admitted: await this.admitted(digest) };
  }

  /** @throws packageNotTrusted. */
  async #requireTrusted(content: PackageContent, read: (path: string) => Promise<Buffer>): Promise<void> {
    const { trust } = this;
    if (trust?.isAsked !== true) return;
    const { entry, files } = content;
    const now = await trust.require({
      ...{ id: entry.id, files: files.values(), read },
      admitted: await this.admitted(entry.digest),
    });
    const there = this.#parts.kos.find(entry.id);
    if (there === undefined || there.digest === entry.digest) return;
    const opened = (await this.#parts.folders?.open(entry.id)) ?? (await this.#packages.open(there, false));
    try {
      trust.requireSameSigner(entry.id, await trust.judge(await this.#asJudged(opened)), now);
    } finally {
      opened.release();
    }
  }

  /** Of a package that has the bundles of one that is stored. @throws packageNotTrusted. */
  async #requireTrustedAs(content: PackageContent, open: () => Promise<KoPackage>): Promise<void> {
    if (this.trust?.isAsked !== true) return;
    const stored = await open();
    try {
      await this.#requireTrusted(content, (path) => stored.read(path));
    } finally {
      stored.release();
    }
  }

  /** Makes a package of what lies in the folder of a person, so that it may come back when it is gone there. */
  async #retainFolder(folder: KoPackage, why: 'deleted' | 'replaced'): Promise<void> {
    if (!this.#parts.retained.isKept) return;
    const { entry } = folder;
    await using staged = await this.#stage(async (id, each) => {
      const content = await each.admit(id);
      await this.#storing(content, each, () =>
        this.#change(id, undefined, undefined, (change) => change.retain(content, why)),
      );
      return entry;
    });
    await copyFiles(folder, staged);
    await staged.commit(entry.id);
  }

  /** Stores the files of a package before the rows that name them; where these do not come, they go again. */
  async #storing(
    content: PackageContent,
    staged: StagedPackage | undefined,
    write: () => Promise<unknown>,
  ): Promise<void> {
    const { objects, database } = this.#parts;
    const sources = textsOf(content);
    if (staged !== undefined)
      for (const { path, sha256, size } of content.files.values())
        if (path !== METADATA_FILE) sources.push({ sha256, size, from: { path: join(staged.content, path) } });
    const stored: Stored = await objects.put(sources, (digest) => isNamed(database.query, database.dialect, digest));
    try {
      await write();
      stored.release();
      await this.#parts.keepFiles?.(content.entry.digest, [...content.files.values()]);
    } catch (thrown) {
      await stored.discard();
      throw thrown;
    }
  }

  #change<T>(
    id: KoId,
    action: ChangeAction | undefined,
    author: ChangeAuthor | undefined,
    work: (change: Change) => Promise<T>,
  ): Promise<T> {
    return this.#parts.changes.run(id, action, author, work);
  }

  async #moveFormerFolder(id: KoId): Promise<void> {
    const { folders, kos, warn } = this.#parts;
    if (kos.folderOf(id) !== undefined) return;
    try {
      await folders?.moveAway(id);
    } catch (thrown) {
      warn(`${koKey(id)} was imported, but its former folder could not be moved to .removed`, thrown);
    }
  }

  async #write<T>(id: KoId, work: () => Promise<T>): Promise<T> {
    this.#requireWritable();
    return this.#writes.run(koKey(id), async () => {
      this.#parts.requireWritable();
      const result = await this.#writing(work);
      this.#parts.onChanged?.();
      return result;
    });
  }

  /** Errors of the disk and the database become those of the contract. */
  #writing<T>(work: () => Promise<T>): Promise<T> {
    return writing(() =>
      work().catch((thrown: unknown) => {
        throw this.#parts.database.toServiceError(thrown);
      }),
    );
  }

  #requireWritable(): void {
    const { mayWrite, requireWritable } = this.#parts;
    if (!mayWrite) throw readOnlyShelf();
    if (this.#closed) throw shelfNotWritable('The shelf is closed: the activator is stopping.');
    requireWritable();
  }

  /** @throws shelfNotReadable until all was read once. */
  #known<T>(read: () => T): Promise<T> {
    const { kos, follower } = this.#parts;
    if (kos.revision >= 0) return Promise.resolve(read());
    const { problem } = follower;
    const why = problem === undefined ? 'it is read for the first time' : messageOf(problem);
    return Promise.reject(shelfNotReadable('The shelf cannot be read at the moment: try again later.', new Error(why)));
  }
}

/** A shelf as the activators need it that share it, or the one that has it for itself: its database beside the contract. */
export type SharedShelf = Shelf &
  Pick<
    StoredShelf,
    'database' | 'objects' | 'node' | 'reached' | 'openedAt' | 'openPackage' | 'onChange' | 'onOtherHistory'
  >;
