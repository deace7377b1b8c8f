/** KOs that people put on the shelf as folders: rows like all others, whose files are read where they lie. */
import { join } from 'node:path';
import { type KoId, koKey, type KoName, nameKey } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { isOutOfHandles, packageDamaged, shelfNotReadable, toError, tooManyOpen } from '../../lib/errors.ts';
import { FairQueue, mapBounded } from '../../lib/fair-queue.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { isTransient, reasonOf } from '../disk-errors.ts';
import { OpenPackage, type PackagePlace } from '../package/open-package.ts';
import type { PackageContent } from '../package/package-content.ts';
import type { KoPackage, ShelfDamage } from '../shelf.ts';
import type { Database } from '../store/database.ts';
import type { DurableFiles } from '../store/durable-files.ts';
import { type ShelfLayout, stagingName } from '../store/shelf-layout.ts';
import type { StoredKos } from '../store/stored-kos.ts';
import { type FolderChanges, type FolderRow, folderRows, imported, writeFolders, writeStamps } from './folder-rows.ts';
import type { RemovedFolder } from './removed-folder.ts';
import { type FileStamp, findUnpacked, folderStamp, readUnpacked, stampFolder, unreadable } from './unpacked-folder.ts';

const CONCURRENT_READS = 8;
/** KOs whose rows are written in one transaction. */
const AT_ONCE = 800;

/** A folder that was found, whether it is served or not. */
interface Folder {
  readonly id: KoId;
  readonly atId: string | undefined;
  readonly place: PackagePlace;
  /** Nothing changed in it while this is the same; undefined when that is not sure. */
  readonly stamp: string | undefined;
  /** Where it was read just now. */
  readonly content?: PackageContent | undefined;
}

export interface FolderPackagesOptions {
  readonly layout: ShelfLayout;
  readonly disk: DurableFiles;
  readonly database: Database;
  /** What the rows say. */
  readonly kos: StoredKos;
  /** Brings that level with what was written into the database. */
  readonly show: () => Promise<void>;
  readonly removed: RemovedFolder;
  /** The naan of the places of KOs whose `@id` is a word or a URL. */
  readonly defaultNaan: string;
  /** True of a shelf that is only read: its database is a copy. */
  readonly isCopy: boolean;
}

export class FolderPackages {
  /** By their paths below the shelf, in order; the same id may be there twice. */
  #folders = new Map<string, Folder>();
  /** The paths of the folders of each id, in order. */
  #byKey = new Map<string, readonly string[]>();
  /** Those that have rows, by `koKey`. */
  readonly #rows = new Map<string, FolderRow>();
  #damage: readonly ShelfDamage[] = [];
  /** Whether the rows were taken in since they were last shown: some may have gone. */
  #isLoaded = false;
  #archives: readonly string[] = [];
  #coming: Promise<void> | undefined;
  readonly #options: FolderPackagesOptions;
  /** Looking and moving exclude each other: a look must not see a folder that is on its way out. */
  readonly #queue = new FairQueue({ perKey: 1 });

  constructor(options: FolderPackagesOptions) {
    this.#options = options;
  }

  /** Archives that the last look found beside the folders, relative to the shelf. */
  get archives(): readonly string[] {
    return this.#archives;
  }

  /** Takes in what the rows of an earlier run, or of another process, say. */
  load(): Promise<void> {
    return this.#alone(async () => {
      this.#rows.clear();
      this.#isLoaded = true;
      for (const row of await folderRows(this.#options.database)) {
        const { id, atId, where, stamp } = row;
        this.#rows.set(koKey(id), row);
        this.#folders.set(where, { id, atId, stamp, place: this.#placeOf(where) });
      }
    });
  }

  /**
   * Looks at everything again; all who ask before it begins get the same look. For some KOs it looks at their folders and
   * at those that are new, and at everything where it finds nothing of one of them.
   */
  scan(names?: readonly KoName[]): Promise<void> {
    if (names !== undefined) return this.#alone(async () => void (await this.#scanFor(names)));
    this.#coming ??= this.#alone(async () => {
      // It may begin before it is noted: whoever asks once it has begun gets another look.
      await Promise.resolve();
      this.#coming = undefined;
      await this.#scan();
    });
    return this.#coming;
  }

  /** Looks for folders that are new or gone, and not at what is in the others. */
  scanNew(): Promise<void> {
    return this.#alone(async () => void (await this.#scan(() => false)));
  }

  /** Looks again where something could not be read for a reason that passes. @returns what was found there. */
  async readAgain(): Promise<readonly KoId[]> {
    const places = this.#damage.filter(({ transient }) => transient === true);
    if (places.length === 0) return [];
    await this.scan();
    const isStill = (where: string): boolean => this.#damage.some((each) => isWithin(where, each.where));
    return [...this.#folders]
      .filter(([folder]) => places.some(({ where }) => isWithin(folder, where)) && !isStill(folder))
      .map(([, { id }]) => id);
  }

  /** The package of a KO with what lies in its folder now; undefined where it has none. @throws packageDamaged; shelfNotReadable. */
  async open(id: KoId): Promise<KoPackage | undefined> {
    const { kos } = this.#options;
    let stamps = await this.#unchanged(id);
    if (stamps === undefined && kos.folderOf(id) !== undefined) await this.scan([id]);
    const where = kos.folderOf(id);
    const entry = kos.find(id);
    if (where === undefined || entry === undefined) return undefined;
    const place = this.#placeOf(where);
    stamps ??= await stampFolder(place.path).catch((thrown: unknown) => {
      if (isOutOfHandles(thrown)) throw tooManyOpen(thrown);
      if (isTransient(thrown)) throw shelfNotReadable(`${koKey(id)} cannot be read at the moment.`, thrown);
      throw packageDamaged(`The folder of ${koKey(id)} cannot be read (${reasonOf(thrown)}).`, { cause: thrown });
    });
    const size = Buffer.byteLength(entry.metadata);
    // Only reading tells their digests.
    const files = stamps.map((file) => ({ ...file, sha256: '', ...(file.path === METADATA_FILE ? { size } : {}) }));
    return new OpenPackage({
      content: { entry, files: new Map(files.map((file) => [file.path, file])) },
      ...{ place, verify: false, release: () => undefined },
    });
  }

  /** Writes new metadata into the folder of a KO. */
  replaceMetadata(id: KoId, metadata: string): Promise<void> {
    return this.#alone(async () => {
      const { layout, disk, kos } = this.#options;
      const [where, before] = [kos.folderOf(id), kos.find(id)?.metadata];
      if (where === undefined) return;
      const target = join(this.#placeOf(where).path, METADATA_FILE);
      const write = (text?: string, last?: string): Promise<void> =>
        disk.replaceFile('metadata', target, stagingName(layout), text, last);
      await write(metadata, before);
      const failure = await this.#scanFor([id]);
      if (failure === undefined) return;
      await write(before, metadata).catch(() => undefined);
      throw failure;
    });
  }

  /** Takes a KO off the shelf: `work` removes its row, and all its folders go to `.removed`. */
  async remove(id: KoId, work: () => Promise<void>): Promise<void> {
    if (!this.#byKey.has(koKey(id))) return work();
    await this.#alone(async () => {
      await work();
      this.#rows.delete(koKey(id));
      try {
        await this.#moveAll(koKey(id));
      } catch (thrown) {
        await this.#scanFor([id]).catch(() => undefined);
        throw thrown;
      }
    });
  }

  /** Moves all folders of a KO that was imported to `.removed`. Packages that are open go on reading from there. */
  async moveAway(id: KoId): Promise<void> {
    if (this.#byKey.has(koKey(id))) await this.#alone(() => this.#moveAll(koKey(id)));
  }

  /** What cannot be served: by its own fault, or since another has its id. */
  damage(): readonly ShelfDamage[] {
    const hidden: ShelfDamage[] = [];
    const { kos } = this.#options;
    for (const [key, folders] of this.#byKey) {
      const id = this.#folders.get(folders[0] ?? '')?.id;
      const entry = id && kos.find(id);
      const serving = id && kos.folderOf(id);
      if (entry === undefined || (folders.length === 1 && serving !== undefined)) continue;
      const its = entry.atId ?? key;
      const other = serving === undefined ? 'a package that was imported' : `the folder ${serving}`;
      for (const where of folders) {
        const atId = this.#folders.get(where)?.atId ?? key;
        const cause =
          atId === its
            ? `its "@id" ${escapeForMessage(its)} is that of ${other}; remove one of the two`
            : `its "@id" ${escapeForMessage(atId)} falls on the place ${key}, as does ${escapeForMessage(its)} of ${other}; give one of the two another name or version`;
        if (where !== serving) hidden.push({ where, cause });
      }
    }
    return [...this.#damage, ...hidden.sort((a, b) => (a.where < b.where ? -1 : 1))];
  }

  settled(): Promise<void> {
    return this.#queue.idle();
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#queue.run('', work);
  }

  #placeOf(where: string): PackagePlace {
    return this.#folders.get(where)?.place ?? { path: join(this.#options.layout.root, where) };
  }

  /** The files of a folder that is what its row says; undefined where it may be another, or there is none. */
  async #unchanged(id: KoId): Promise<readonly FileStamp[] | undefined> {
    const row = this.#rows.get(koKey(id));
    if (row?.stamp === undefined || row.where !== this.#options.kos.folderOf(id)) return undefined;
    const stamps = await stampFolder(this.#placeOf(row.where).path).catch(() => undefined);
    return stamps !== undefined && folderStamp(stamps) === row.stamp ? stamps : undefined;
  }

  async #scanFor(names: readonly KoName[]): Promise<Error | undefined> {
    const keys = new Set(names.map(nameKey));
    const failure = await this.#scan(({ id }) => keys.has(nameKey(id)));
    const found = new Set([...this.#folders.values()].map(({ id }) => nameKey(id)));
    const isLacking = this.#folders.size > 0 && [...keys].some((key) => !found.has(key));
    return isLacking ? this.#scan() : failure;
  }

  /** @param isAsked of the folders that are known, those to look at. @returns why its rows could not be written. */
  async #scan(isAsked: (folder: Folder) => boolean = () => true): Promise<Error | undefined> {
    const known = this.#folders;
    const spared = (where: string): Folder | undefined => {
      const folder = known.get(where);
      return folder?.stamp !== undefined && !isAsked(folder) ? folder : undefined;
    };
    const { folders, archives, damage } = await findUnpacked(
      this.#options.layout.root,
      (where) => spared(where) !== undefined,
    );
    const found = new Map<string, Folder>();
    await mapBounded(folders, CONCURRENT_READS, async (where) => {
      const folder = spared(where) ?? (await this.#look(where, known.get(where), damage));
      if (folder !== undefined) found.set(where, folder);
    });
    // What cannot be read now is still what it was.
    const transient = damage.filter((each) => each.transient === true);
    for (const [where, folder] of transient.length === 0 ? [] : known) {
      if (!found.has(where) && transient.some((each) => isWithin(where, each.where)))
        found.set(where, { ...folder, stamp: undefined });
    }
    this.#archives = archives;
    return this.#keep(new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1))), damage);
  }

  /** Reads a folder, unless it is what it was. */
  async #look(where: string, before: Folder | undefined, damage: ShelfDamage[]): Promise<Folder | undefined> {
    const place = this.#placeOf(where);
    try {
      const stamps = await stampFolder(place.path);
      const stamp = folderStamp(stamps);
      if (before !== undefined && stamp !== undefined && stamp === before.stamp) return before;
      const content = await readUnpacked(place.path, stamps, this.#options.defaultNaan);
      const { id, atId } = content.entry;
      return { id, atId, place, stamp, content };
    } catch (thrown) {
      if (isOutOfHandles(thrown)) throw tooManyOpen(thrown);
      damage.push(isTransient(thrown) ? unreadable(where, thrown) : { where, cause: reasonOf(thrown) });
      return undefined;
    }
  }

  /** Makes rows of what was found: of each id the first folder, unless the KO was imported. */
  async #keep(found: Map<string, Folder>, damage: ShelfDamage[]): Promise<Error | undefined> {
    const { database } = this.#options;
    const byKey = Map.groupBy(found.keys(), (where) => keyOf(found.get(where)));
    const first = new Map([...byKey].map(([key, [where = '']]) => [key, where]));
    const others = await imported(
      database,
      [...first.keys()].filter((key) => !this.#rows.has(key)),
    );
    const [came, stamped]: [FolderChanges['came'][number][], FolderRow[]] = [[], []];
    for (const [key, where] of first) {
      const row = this.#rows.get(key);
      const folder = found.get(where);
      if (folder === undefined || others.has(key)) continue;
      const isSame = folder.stamp === undefined || folder.stamp === row?.stamp;
      if (row?.where === where && folder.content === undefined && isSame) continue;
      const { content, stamp } =
        folder.content === undefined ? ((await this.#look(where, undefined, damage)) ?? {}) : folder;
      if (content === undefined || koKey(content.entry.id) !== key) continue;
      if (row?.where !== where || row.etag !== content.entry.etag) came.push({ content, where, stamp });
      else if (row.stamp !== stamp) stamped.push({ ...row, stamp });
    }
    const gone = [...this.#rows].filter(([key]) => !first.has(key)).map(([, { id }]) => id);
    this.#folders = new Map([...found].map(([where, folder]) => [where, { ...folder, content: undefined }]));
    this.#byKey = byKey;
    const failure = await this.#write(came, gone).catch(toError);
    // What is full or away may be so for a while: what the rows say is served, with what lies in their folders.
    for (const { where } of failure === undefined ? [] : came)
      damage.push({ where, cause: `it cannot be taken in (${reasonOf(failure)}); it is tried again`, transient: true });
    this.#damage = damage.sort((a, b) => (a.where < b.where ? -1 : 1));
    for (const row of stamped) this.#rows.set(koKey(row.id), row);
    for (const rows of inParts(stamped)) await writeStamps(this.#options.database, rows);
    return failure;
  }

  async #write(came: FolderChanges['came'], gone: readonly KoId[]): Promise<undefined> {
    const { database, isCopy, show } = this.#options;
    for (const part of inParts(came)) {
      await writeFolders(database, { came: part, gone: [] }, !isCopy);
      for (const { content, where, stamp } of part) {
        const { id, atId, etag } = content.entry;
        this.#rows.set(koKey(id), { id, atId, where, stamp, etag });
      }
      await show();
    }
    for (const part of inParts(gone)) {
      await writeFolders(database, { came: [], gone: part }, !isCopy);
      for (const id of part) this.#rows.delete(koKey(id));
      await show();
    }
    if (this.#isLoaded) await show();
    this.#isLoaded = false;
  }

  async #moveAll(key: string): Promise<void> {
    for (const where of this.#byKey.get(key) ?? []) {
      const place = this.#placeOf(where);
      await this.#options.removed.take('exploded folder', place.path, (_from, to) => this.#rename(place, to));
      this.#folders.delete(where);
    }
    this.#byKey.delete(key);
    this.#rows.delete(key);
  }

  async #rename(place: PackagePlace, target: string): Promise<void> {
    const moved = this.#options.disk.move('exploded folder', place.path, target).then(() => void (place.path = target));
    place.moving = moved.catch(() => undefined);
    await moved;
  }
}

function* inParts<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += AT_ONCE) yield all.slice(from, from + AT_ONCE);
}

const keyOf = (folder: Folder | undefined): string => (folder === undefined ? '' : koKey(folder.id));

/** The folder itself, or one below it. */
const isWithin = (where: string, folder: string): boolean => where === folder || where.startsWith(`${folder}/`);
