import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { koNotFound, messageOf, shelfNotReadable, shelfNotWritable } from '../../lib/errors.ts';
import type { HashedFile, PackageContent } from '../package/package-content.ts';
import { requireMatch } from '../package/rules-of-changes.ts';
import { StagedPackage } from '../package/staged-package.ts';
import { keptIsDamaged } from '../not-kept.ts';
import { requirePlace } from '../require-place.ts';
import type { SharedShelf } from '../shared-shelf.ts';
import type {
  KoPackage,
  ListRange,
  RemovedPackage,
  Restored,
  RestoreOptions,
  ShelfCondition,
  ShelfDamage,
  ShelfEntry,
  Staging,
} from '../shelf.ts';
import { collectBlobs } from './collect.ts';
import type { Database, Query } from './database.ts';
import type { Follower } from './follower.ts';
import type { KeptRows } from './kept-rows.ts';
import type { NodeId } from './node-id.ts';
import type { PackageFiles } from './package-files.ts';
import type { SharedIndex } from './shared-index.ts';
import type { ChangeAction } from '../change-record.ts';
import type { OpenChange, ShelfChanges } from './shelf-changes.ts';
import { asChangeError, changing } from './shelf-errors.ts';
import { SpooledFiles } from './spooled-files.ts';
import { damagedFile, storedFiles, storePackage } from './store-files.ts';
import { contentOf, storedContent } from './stored-content.ts';
import { StoredPackages } from './stored-packages.ts';

export interface PostgresShelfParts {
  readonly defaultNaan: string;
  readonly node: NodeId;
  readonly database: Database;
  readonly index: SharedIndex;
  readonly follower: Follower;
  readonly files: PackageFiles;
  readonly kept: KeptRows;
  readonly changes: ShelfChanges;
  /** Where packages lie until they are committed. */
  readonly staging: string;
  /** Rejects where the database can never be used as it is. */
  readonly opened: Promise<void>;
}

/** Bytes; files up to this size are in the local cache from the import on. */
const KEPT_AT_ONCE = 1024 * 1024;
const LONGEST_CATCH_UP_MS = 2000;

/** A shelf in a PostgreSQL database, which several activators share. Reads are answered from memory. */
export class PostgresShelf implements SharedShelf {
  readonly type = 'postgres';
  readonly isShared = true;
  readonly created = new Date();
  readonly defaultNaan: string;
  readonly node: NodeId;
  onChange: () => void = () => undefined;
  readonly #parts: PostgresShelfParts;
  readonly #spooled = new SpooledFiles();
  readonly #packages: StoredPackages;
  #closed = false;

  constructor(parts: PostgresShelfParts) {
    this.#parts = parts;
    this.defaultNaan = parts.defaultNaan;
    this.node = parts.node;
    const find = (id: KoId): ShelfEntry | undefined => parts.index.find(id);
    this.#packages = new StoredPackages(parts.files, find, async () => {
      await parts.follower.look();
      await this.check();
    });
    parts.index.onChange = () => this.onChange();
    parts.follower.onGeneration = () => this.onChange();
  }

  get database(): Database {
    return this.#parts.database;
  }

  get generation(): number {
    return this.#parts.follower.state?.generation ?? 0;
  }

  ready(): Promise<void> {
    return this.#parts.opened;
  }

  list(range?: ListRange): Promise<readonly ShelfEntry[]> {
    return this.#known((index) => index.entries.list(range));
  }

  find(id: KoId): Promise<ShelfEntry | undefined> {
    return this.#known((index) => index.find(id));
  }

  versions(naan: string, name: string): Promise<readonly ShelfEntry[]> {
    return this.#known((index) => index.entries.versions(naan, name));
  }

  withAtId(atId: string): Promise<readonly ShelfEntry[]> {
    return this.#known((index) => index.entries.withAtId(atId));
  }

  revision(): Promise<number> {
    return this.#known((index) => index.revision);
  }

  changes(since: number): Promise<readonly KoId[] | undefined> {
    return this.#known((index) => index.since(since));
  }

  async open(id: KoId): Promise<KoPackage | undefined> {
    const entry = await this.find(id);
    return entry && (await this.#packages.open(entry));
  }

  openPackage(id: KoId, digest: string): Promise<KoPackage | undefined> {
    return this.#packages.openDigest(id, digest);
  }

  async stage(): Promise<Staging> {
    this.#requireWritable();
    const folder = join(this.#parts.staging, `package-${crypto.randomUUID()}`);
    return StagedPackage.create(folder, this.#spooled, (id, staged) => this.#take(id, staged));
  }

  replaceMetadata(id: KoId, metadata: string, ifMatch?: readonly string[]): Promise<ShelfEntry> {
    return this.#change(id, 'replace metadata', async ({ query, before, put }) => {
      if (before === undefined) throw koNotFound(koKey(id));
      requireMatch(before, ifMatch);
      const stored = await storedFiles(query, this.#schema, before.digest);
      const content = contentOf(id, metadata, stored);
      if (content.entry.etag === before.etag) return before;
      await storePackage(query, this.#schema, content, () => Buffer.from(metadata));
      await put(content);
      return content.entry;
    });
  }

  async remove(id: KoId, ifMatch?: readonly string[]): Promise<void> {
    await this.#change(id, 'delete', async ({ before, remove }) => {
      if (before === undefined) throw koNotFound(koKey(id));
      requireMatch(before, ifMatch);
      await remove();
    });
  }

  async removed(id?: KoId): Promise<readonly RemovedPackage[]> {
    const { kept, database } = this.#parts;
    return changing(async () => (await kept.sorted(database.query, id)).stay);
  }

  async openRemoved(id: KoId, digest: string): Promise<KoPackage> {
    const { kept, database } = this.#parts;
    const chosen = await changing(() => kept.find(database.query, id, digest));
    const opened = await this.openPackage(id, digest);
    if (opened === undefined) throw keptIsDamaged(chosen, 'the list of its files is missing');
    return opened;
  }

  restore(id: KoId, { digest, ifMatch }: RestoreOptions = {}): Promise<Restored> {
    return this.#change(id, 'restore', async ({ query, before, put }) => {
      if (before !== undefined && before.digest === digest) {
        requireMatch(before, ifMatch);
        return { entry: before, replaced: undefined };
      }
      const chosen = await this.#parts.kept.find(query, id, digest);
      requireMatch(before, ifMatch);
      const content = await storedContent(query, this.#schema, chosen);
      await put(content);
      return { entry: content.entry, replaced: before?.digest };
    });
  }

  async discardRemoved(): Promise<number> {
    if (this.#closed) return 0;
    const { database, kept, changes } = this.#parts;
    let gone = 0;
    await changing(async () => {
      const { go } = await kept.sorted(database.query);
      const ids = new Map(go.map(({ id }) => [koKey(id), id]));
      for (const id of ids.values()) gone += await database.transaction(({ query }) => changes.discard(query, id, []));
      await collectBlobs(database);
    });
    return gone;
  }

  async rescan(): Promise<void> {
    const looked = this.#parts.follower.look().catch(() => undefined);
    await Promise.race([looked, new Promise((resolve) => setTimeout(resolve, LONGEST_CATCH_UP_MS).unref())]);
    const { query } = this.#parts.database;
    await this.#packages.lookAgain((digest) => damagedFile(query, this.#schema, digest));
  }

  readAgain(): Promise<readonly KoId[]> {
    return Promise.resolve([]);
  }

  damage(): readonly ShelfDamage[] {
    return this.#packages.damage();
  }

  condition(): ShelfCondition {
    const { follower, database, index } = this.#parts;
    const { problem } = follower;
    return {
      problem:
        problem === undefined || this.#closed
          ? undefined
          : `The database at ${database.location.label} cannot be used (${problem.message})`,
      details: { database: database.location.label, fleet: database.fleet, revision: Math.max(0, index.revision) },
    };
  }

  async check(): Promise<void> {
    await this.#known(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#parts.follower.close();
    await this.#parts.database.close();
  }

  get #schema(): string {
    return this.#parts.database.schema;
  }

  async #take(id: KoId, staged: StagedPackage): Promise<ShelfEntry> {
    const content = await staged.describe(id);
    const sourceOf = ({ path }: HashedFile): string | Buffer =>
      path === METADATA_FILE ? Buffer.from(content.entry.metadata) : join(staged.content, path);
    const entry = await this.#change(
      id,
      'import',
      async ({ before, put }) => {
        requirePlace(content.entry, before);
        staged.replaced = before?.digest === content.entry.digest ? undefined : before?.digest;
        if (before?.etag !== content.entry.etag) await put(content);
        return content.entry;
      },
      (query) => storePackage(query, this.#schema, content, sourceOf, true),
    );
    await this.#keepHere(content, sourceOf);
    return entry;
  }

  /** What was just imported is read soon. */
  async #keepHere(content: PackageContent, sourceOf: (file: HashedFile) => string | Buffer): Promise<void> {
    const { files } = this.#parts;
    this.#packages.isWhole(content.entry.id);
    for (const file of content.files.values()) {
      const source = file.size > KEPT_AT_ONCE ? undefined : sourceOf(file);
      const bytes = typeof source === 'string' ? await readFile(source).catch(() => undefined) : source;
      if (bytes !== undefined) await files.keep(file.sha256, bytes);
    }
    await files.keepList(content.entry.digest, [...content.files.values()]);
  }

  #change<T>(
    id: KoId,
    action: ChangeAction,
    work: (change: OpenChange) => Promise<T>,
    prepare?: (query: Query) => Promise<void>,
  ): Promise<T> {
    this.#requireWritable();
    return changing(() => this.#parts.changes.run(id, action, work, prepare));
  }

  /** While it is known that the database is away, a change is refused at once. */
  #requireWritable(): void {
    if (this.#closed) throw shelfNotWritable('The shelf is closed: the activator is stopping.');
    const { problem } = this.#parts.follower;
    if (problem !== undefined) throw asChangeError(problem);
  }

  /** @throws shelfNotReadable until it was read once. */
  #known<T>(read: (index: SharedIndex) => T): Promise<T> {
    const { index, follower } = this.#parts;
    if (index.isLoaded) return Promise.resolve(read(index));
    const { problem } = follower;
    const why = problem === undefined ? 'it is read for the first time' : messageOf(problem);
    return Promise.reject(shelfNotReadable('The shelf cannot be read at the moment: try again later.', new Error(why)));
  }
}
