/**
 * A backup of a shelf in a folder, as one archive: `backup.json`, which says what it lacks, the objects, and last the
 * database that names them. An activator may go on meanwhile.
 */
import { createReadStream, existsSync } from 'node:fs';
import { mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseKoId } from '../../knowledge-object/id.ts';
import { mapBounded } from '../../lib/fair-queue.ts';
import { isMissing } from '../disk-errors.ts';
import { hashFile } from '../package/package-content.ts';
import { writeTarGz, type TarSource } from '../tar/write-tar.ts';
import { findUnpacked } from '../unpacked/unpacked-folder.ts';
import { faultOf } from './check-packages.ts';
import type { Query } from './database.ts';
import { DurableFiles, syncFolder } from './durable-files.ts';
import { ObjectsFolder } from './objects-folder.ts';
import { databaseIn } from './open-stored-shelf.ts';
import { parseFiles, renderListing } from './package-listing.ts';
import { isNamed } from './packages.ts';
import { shelfLayout, type ShelfLayout } from './shelf-layout.ts';
import { takeSnapshot } from './snapshot.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';

/** Names in the archive. */
export const [ABOUT, DATABASE, OBJECTS] = ['backup.json', 'shelf.db', 'objects'];
export const BACKUP_FORMAT = 1;

export interface AboutBackup {
  readonly format: number;
  /** Sha256 of the database. */
  readonly database: string;
  /** What was damaged on the shelf, and is not in the archive. */
  readonly damaged: readonly Damaged[];
}

interface Damaged {
  readonly where: string;
  readonly cause: string;
  readonly sha256: string;
}

export interface BackupReport {
  /** KOs and retained packages that are whole. */
  readonly whole: number;
  readonly damaged: readonly Damaged[];
  /** Folders of people, which are not in it. */
  readonly folders: number;
}

/** Something was given back while the backup was made. */
class ShelfChanged extends Error {}

const MOST_ATTEMPTS = 5;
const AT_ONCE = 8;

/** @param file gets its name when all of it is on the disk. @throws Error. */
export async function backupShelf(root: string, file: string): Promise<BackupReport> {
  const layout = shelfLayout(root);
  if (!existsSync(databaseIn(layout)))
    throw new Error(`${root} has no database, .kgrid/shelf.db: start an activator of this version on it first`);
  if (`${file}/`.startsWith(`${root}/`))
    throw new Error(`${file} lies in the shelf that it is a backup of: give a place outside of it`);
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory() === true) throw new Error(`${file} is a folder: name a file in it`);
  for (let attempt = 1; ; attempt++) {
    const folder = await mkdtemp(join(dirname(file), `.${basename(file)}.`));
    try {
      const report = await writeBackup(layout, folder, file);
      return { ...report, folders: (await findUnpacked(root)).folders.length };
    } catch (thrown) {
      if (!(thrown instanceof ShelfChanged) || attempt === MOST_ATTEMPTS) throw thrown;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** @param folder for files that go again, on the disk of the file. */
async function writeBackup(
  layout: ShelfLayout,
  folder: string,
  file: string,
): Promise<Pick<BackupReport, 'whole' | 'damaged'>> {
  const snapshot = join(folder, 'shelf.db');
  await takeSnapshot(databaseIn(layout), snapshot);
  const packages = await packagesIn(snapshot);
  const objects = new ObjectsFolder({ folder: layout.objects, staging: layout.staging, disk: new DurableFiles() });
  const { sources, damaged, whole } = await sourcesOf(packages, objects);
  await requireStillNamed(layout, damaged);
  const { size } = await stat(snapshot);
  const about: AboutBackup = { format: BACKUP_FORMAT, database: await hashFile(snapshot, size), damaged };
  const text = Buffer.from(JSON.stringify(about));
  const archive = join(folder, 'archive');
  await pipeline(
    writeTarGz([
      { path: ABOUT, size: text.length, content: text },
      ...sources,
      { path: DATABASE, size, content: () => Promise.resolve(createReadStream(snapshot)) },
    ]),
    (await open(archive, 'wx', 0o600)).createWriteStream({ flush: true }),
  );
  await rename(archive, file);
  await syncFolder(dirname(file));
  return { whole, damaged };
}

interface NamedPackage {
  readonly id: string;
  readonly isOnShelf: boolean;
  readonly listing: string;
  readonly files: string;
}

/** What the database names; afterwards it is one whole file. */
async function packagesIn(file: string): Promise<NamedPackage[]> {
  await using database = await SqliteDatabase.open(file);
  await requireSound(database.query);
  const { rows } = await database.query<{ id: string; current: number; listing: string; files: string }>(
    `SELECT ko.id, 1 AS current, listing, files FROM ko JOIN package USING (digest) WHERE removed = 0 AND folder IS NULL
      UNION ALL SELECT retained.id, 0 AS current, listing, files FROM retained JOIN package USING (digest)`,
  );
  await database.query('PRAGMA wal_checkpoint(TRUNCATE)');
  return rows.map(({ current, ...row }) => ({ ...row, isOnShelf: current === 1 }));
}

/** @throws Error for a database that is damaged. */
export async function requireSound(query: Query): Promise<void> {
  const { rows } = await query<{ quick_check: string }>('PRAGMA quick_check(1)');
  const said = rows[0]?.quick_check ?? 'it says nothing';
  if (said !== 'ok') throw new Error(`the database of the shelf is damaged (${said}): see kgrid shelf check`);
}

async function sourcesOf(
  packages: readonly NamedPackage[],
  objects: ObjectsFolder,
): Promise<{ sources: TarSource[]; damaged: Damaged[]; whole: number }> {
  const sources = new Map<string, TarSource>();
  const faults = new Map<string, Promise<string | undefined>>();
  const damaged: Damaged[] = [];
  await mapBounded(packages, AT_ONCE, async ({ id, isOnShelf, listing, files: text }) => {
    const files = parseFiles(text);
    for (const file of files) {
      const { sha256, size } = file;
      let fault = faults.get(sha256);
      if (fault === undefined) faults.set(sha256, (fault = faultOf(objects, file)));
      const cause = await fault;
      const content = (): Promise<Readable> => opened(objects.pathOf(sha256));
      if (cause === undefined) sources.set(sha256, { path: nameOf(sha256), size, content });
      else damaged.push({ where: id, cause, sha256 });
    }
    const koId = parseKoId(id);
    const rendered = koId && renderListing(koId, files).text;
    const name = `${nameOf(listing)}.${isOnShelf ? 'package' : 'retained'}`;
    if (rendered !== undefined && (isOnShelf || !sources.has(listing)))
      sources.set(listing, {
        ...{ path: name, size: Buffer.byteLength(rendered) },
        content: () => Promise.resolve(Readable.from([Buffer.from(rendered)])),
      });
  });
  const broken = new Set(damaged.map(({ where }) => where));
  damaged.sort((a, b) => (a.where < b.where ? -1 : 1));
  return { sources: [...sources.values()], damaged, whole: packages.length - broken.size };
}

const nameOf = (digest: string): string => `${OBJECTS}/${digest.slice(0, 2)}/${digest}`;

async function opened(path: string): Promise<Readable> {
  try {
    return (await open(path, 'r')).createReadStream();
  } catch (thrown) {
    if (isMissing(thrown)) throw new ShelfChanged();
    throw thrown;
  }
}

/** @throws ShelfChanged where something is not damaged, but was given back meanwhile. */
async function requireStillNamed(layout: ShelfLayout, damaged: readonly Damaged[]): Promise<void> {
  if (damaged.length === 0) return;
  await using database = await SqliteDatabase.open(databaseIn(layout), { isReadOnly: true });
  for (const { sha256 } of damaged)
    if (!(await isNamed(database.query, database.dialect, sha256))) throw new ShelfChanged();
}
