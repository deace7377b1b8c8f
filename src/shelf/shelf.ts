/**
 * The shelf: packages at rest. A store implements this contract and passes the conformance suite in
 * `test/conformance/shelf.ts`; nothing outside `shelf/` may assume that packages are files.
 */
import type { ChangeAuthor } from './change-author.ts';
import type { Readable } from 'node:stream';
import type { KoId, KoName } from '../knowledge-object/id.ts';

/** One file of a package; `path` is relative to the package, with `/` between its segments. */
export interface PackageFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
}

/** What the shelf knows of a KO without opening its package. */
export interface ShelfEntry {
  /** Its place on the shelf. */
  readonly id: KoId;
  /** Its `@id`, as `plainAtId` gives it, where that is another text than the place. */
  readonly atId?: string | undefined;
  /** The text of `metadata.json`, byte for byte as it was imported or put. */
  readonly metadata: string;
  /**
   * Of the whole package: sha256, as lower-case hex, over what `sha256sum` prints for all its files (`metadata.json`
   * included) in order of path, bytewise. Equal content has equal digests.
   */
  readonly digest: string;
  /** Changes whenever the metadata or any file changes; quoted, as in the `ETag` header. */
  readonly etag: string;
}

/**
 * A package that is held open: its files stay readable until `release`, also when the KO is deleted or
 * replaced meanwhile. Reads are of what was opened, never of a later version, except that an exploded folder
 * which a person edits gives its present bytes.
 */
export interface KoPackage {
  readonly entry: ShelfEntry;
  /** By path, sorted; `metadata.json` included. */
  readonly files: ReadonlyMap<string, PackageFile>;
  /** sha256 of what `read` gives, as lower-case hex; undefined where only reading can tell. */
  digestOf(path: string): string | undefined;
  /** @throws packageDamaged when the file is missing or is not what was stored; binaryNotFound for an unknown path. */
  read(path: string): Promise<Buffer>;
  /** `range` is in bytes, both ends inclusive. @throws as `read`. */
  stream(path: string, range?: { start: number; end: number }): Promise<Readable>;
  /** May be called more than once. */
  release(): void;
}

/** A package on its way in. Invisible until `commit`; whatever ends without one leaves no trace. */
export interface Staging extends AsyncDisposable {
  /** Files written so far. */
  readonly files: ReadonlyMap<string, PackageFile>;
  /** `path` must be a checked relative path. @throws shelfFull; shelfNotWritable. */
  write(path: string, content: Readable | Buffer): Promise<void>;
  /** Once it is committed: the digest of what was there under that id, where its content was another. */
  readonly replaced: string | undefined;
  /** Reads back a file that was written. */
  read(path: string): Promise<Buffer>;
  /**
   * Makes the package the KO of this id, whole and durable, in place of the one that was there.
   * `metadata.json` must be among the files. @throws importRefused where a KO of another `@id` has the place.
   */
  commit(id: KoId): Promise<ShelfEntry>;
}

/** A part of the list of a shelf. */
export interface ListRange {
  /** Only what comes behind it in the order, whether it is on the shelf or not; its parts may be empty. */
  readonly after?: KoId | undefined;
  readonly limit?: number | undefined;
}

/** A package that was deleted or replaced and is kept. */
export interface RemovedPackage {
  readonly id: KoId;
  readonly digest: string;
  readonly removed: Date;
  /** `replaced` by another package, or by other metadata alone. */
  readonly why: 'deleted' | 'replaced';
}

/** How much is kept of what is deleted or replaced. Where one of them is 0, nothing is. */
export interface KeepRemoved {
  /** Packages of each KO version, the latest. */
  readonly count: number;
  /** Milliseconds since they were deleted or replaced. */
  readonly age: number;
}

export interface RestoreOptions {
  /** By default that of what was deleted or replaced last. */
  readonly digest?: string | undefined;
  /** Entity tags of which one must be the current one. */
  readonly ifMatch?: readonly string[] | undefined;
  readonly author?: ChangeAuthor | undefined;
}

export interface Restored {
  readonly entry: ShelfEntry;
  /** The digest of what was there under that id, where its content was another. */
  readonly replaced: string | undefined;
}

/** Something on the shelf that cannot be served, in words for the operator. */
export interface ShelfDamage {
  /** What it is, such as `a/b/v1.0` or the name of a folder on the shelf. */
  readonly where: string;
  readonly cause: string;
  /** True where it may be served a little later, without a person's doing. */
  readonly transient?: boolean;
}

/** How the store is, for the health. */
export interface ShelfCondition {
  /** Why nothing can be written, though this activator opened the shelf for writing. */
  readonly problem?: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface Shelf extends AsyncDisposable {
  /** Shown in the health details, for example `file`. */
  readonly type: string;
  /** The naan of the places of KOs whose `@id` is a word or a URL. */
  readonly defaultNaan: string;
  /** When this shelf was opened. */
  readonly created: Date;
  /**
   * Resolves when what is on the shelf is known; until then reads fail with `shelfNotReadable`. @throws startRefused
   * where it will never be.
   */
  ready(): Promise<void>;
  /** KOs, ordered by naan, name and natural version: all, or those of a part at the cost of that part. */
  list(range?: ListRange): Promise<readonly ShelfEntry[]>;
  find(id: KoId): Promise<ShelfEntry | undefined>;
  /** The versions of one KO, oldest first. */
  versions(naan: string, name: string): Promise<readonly ShelfEntry[]>;
  /** The KOs whose `@id` is this, in any of its spellings, the oldest version first. */
  withAtId(atId: string): Promise<readonly ShelfEntry[]>;
  /** Grows with every change of what is on the shelf, and only with these. */
  revision(): Promise<number>;
  /** The KOs that were put, replaced or removed after a revision; undefined where that is too long ago to be known. */
  changes(since: number): Promise<readonly KoId[] | undefined>;
  /** Opens the package as it is now; undefined when the KO is not on the shelf. @throws packageDamaged. */
  open(id: KoId): Promise<KoPackage | undefined>;
  /** `author` of the change that it becomes. @throws shelfNotWritable on a read-only shelf. */
  stage(author?: ChangeAuthor): Promise<Staging>;
  /**
   * Replaces `metadata.json`. Never moves the KO, whatever ids the new text names.
   * @param ifMatch entity tags of which one must be the current one. @throws koNotFound; preconditionFailed; shelfFull; shelfNotWritable.
   */
  replaceMetadata(id: KoId, metadata: string, ifMatch?: readonly string[], author?: ChangeAuthor): Promise<ShelfEntry>;
  /** @throws koNotFound; preconditionFailed; shelfNotWritable. */
  remove(id: KoId, ifMatch?: readonly string[], author?: ChangeAuthor): Promise<void>;
  /**
   * What was deleted or replaced and is kept, of one KO or of all, the latest first. What is there now is never among
   * it, and of equal content only the latest.
   */
  removed(id?: KoId): Promise<readonly RemovedPackage[]>;
  /** Opens a package that is kept, without making it the KO of its id. @throws packageNotKept; packageDamaged. */
  openRemoved(id: KoId, digest: string): Promise<KoPackage>;
  /**
   * Makes a package that is kept the KO of its id again, whole and durable; what was there is kept then. It changes
   * nothing where that digest is there already.
   * @throws packageNotKept; preconditionFailed; packageDamaged; shelfFull; shelfNotWritable.
   */
  restore(id: KoId, options?: RestoreOptions): Promise<Restored>;
  /**
   * Gives back the space of what is kept beyond its bounds. Each change does so for its KO; whoever opened the shelf
   * calls this at intervals for the rest. @returns how many packages went.
   */
  discardRemoved(): Promise<number>;
  /**
   * Looks again for what people put on the shelf by hand, of these KOs or of all. What people did to others may wait
   * for the next look at all.
   * @param what `new`: only for KOs that came or went, and not whether others changed. @param author of what is imported.
   */
  rescan(names?: readonly KoName[], what?: 'all' | 'new', author?: ChangeAuthor): Promise<void>;
  /** Looks again at what could not be read for a reason that passes. @returns the KOs that can be served since. */
  readAgain(): Promise<readonly KoId[]>;
  /** Reads all files of a KO. @returns what is damaged, which `damage()` tells from then on. @throws shelfNotReadable. */
  verify(id: KoId): Promise<ShelfDamage | undefined>;
  /** What was found on the shelf and cannot be served. At once: nothing is read for it. */
  damage(): readonly ShelfDamage[];
  /** At once: nothing is read for it. */
  condition(): ShelfCondition;
  /** Rejects when the shelf cannot be read. */
  check(): Promise<void>;
}
