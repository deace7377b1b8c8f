/** Makes a shelf in a folder from a backup; until all of it is there and checked, there is none. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf } from '../disk-errors.ts';
import { gunzip, isGzip } from '../tar/gunzip.ts';
import { readTar, type TarEntry } from '../tar/read-tar.ts';
import { ABOUT, BACKUP_FORMAT, DATABASE, OBJECTS, requireSound, type AboutBackup } from './backup-shelf.ts';
import { makeFolder, syncFolder } from './durable-files.ts';
import { namedObjects } from './packages.ts';
import { migrate } from './schema.ts';
import { shelfLayout } from './shelf-layout.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';

export interface RestoreReport {
  /** KOs on the shelf, and packages that are retained. */
  readonly kos: number;
  readonly retained: number;
  /** What was damaged when the backup was made. */
  readonly damaged: AboutBackup['damaged'];
}

const NAME = new RegExp(`^${OBJECTS}/([0-9a-f]{2})/(\\1[0-9a-f]{62})(?:\\.(?:package|retained))?$`);
const NO_LIMITS = { unpacked: Infinity, file: Infinity, entries: Infinity };
const MOST_ABOUT_BYTES = 256 * 2 ** 20;

/** @throws Error that says what is wrong with the archive or the folder; then nothing is there that was not before. */
export async function restoreShelf(file: string, root: string): Promise<RestoreReport> {
  await using archive = await open(file, 'r');
  const { home } = shelfLayout(root);
  if (existsSync(home)) throw inUse(root);
  const made = await makeFolder(root);
  const temporary = `${home}.restoring`;
  try {
    await rm(temporary, { recursive: true, force: true });
    await mkdir(temporary);
    const found = await unpack(archive, temporary);
    const report = await requireWhole(join(temporary, DATABASE), root, found);
    for (const part of await readdir(join(temporary, OBJECTS))) await syncFolder(join(temporary, OBJECTS, part));
    for (const folder of [join(temporary, OBJECTS), temporary]) await syncFolder(folder);
    await rename(temporary, home).catch((thrown: unknown) => {
      throw ['ENOTEMPTY', 'EEXIST'].includes(errnoOf(thrown) ?? '') ? inUse(root) : thrown;
    });
    await syncFolder(root);
    if (made !== undefined) await syncFolder(dirname(made));
    return report;
  } catch (thrown) {
    await rm(temporary, { recursive: true, force: true });
    if (made !== undefined) await rm(made, { recursive: true, force: true });
    throw thrown;
  }
}

const inUse = (root: string): Error =>
  new Error(`${root} has a shelf already, in .kgrid: give a new folder, or move .kgrid away`);

interface Found {
  readonly about: AboutBackup;
  readonly digests: ReadonlySet<string>;
}

/** Files go to the disk as they come, each compared with its digest. */
async function unpack(archive: FileHandle, folder: string): Promise<Found> {
  const { size } = await archive.stat();
  const { buffer, bytesRead } = await archive.read(Buffer.alloc(2), 0, 2, 0);
  if (!isGzip(buffer.subarray(0, bytesRead))) throw new Error('it is no backup that kgrid shelf backup made');
  await mkdir(join(folder, OBJECTS));
  const digests = new Set<string>();
  let about: AboutBackup | undefined;
  for await (const entry of readTar(gunzip(archive, size), NO_LIMITS)) {
    const [, part = '', digest] = NAME.exec(entry.name) ?? [];
    if (entry.name === ABOUT) about = await aboutIn(entry);
    else if (about === undefined) throw new Error('it is no backup that kgrid shelf backup made');
    else if (entry.name === DATABASE) {
      if ((await write(entry, join(folder, DATABASE))) !== about.database)
        throw new Error('it is damaged: its database is not what was stored');
    } else if (digest === undefined) throw new Error(`it holds ${entry.name}, which is no part of a backup`);
    else {
      await mkdir(join(folder, OBJECTS, part), { recursive: true });
      if ((await write(entry, join(folder, entry.name))) !== digest)
        throw new Error(`it is damaged: ${entry.name} is not what its name says`);
      digests.add(digest);
    }
  }
  if (about === undefined || !existsSync(join(folder, DATABASE))) throw new Error('it has no database');
  return { about, digests };
}

async function aboutIn({ size, content }: TarEntry): Promise<AboutBackup> {
  if (size > MOST_ABOUT_BYTES) throw new Error(`its ${ABOUT} is too large`);
  const chunks: Buffer[] = [];
  for await (const chunk of content()) chunks.push(chunk);
  const { format, database, damaged } = JSON.parse(Buffer.concat(chunks).toString()) as AboutBackup;
  if (format !== BACKUP_FORMAT)
    throw new Error(`it has format ${String(format)}, and this version knows ${String(BACKUP_FORMAT)}`);
  return { format, database, damaged };
}

/** @returns its sha256. */
async function write({ content }: TarEntry, path: string): Promise<string> {
  await using file = await open(path, 'wx');
  const hash = createHash('sha256');
  for await (const chunk of content()) {
    hash.update(chunk);
    await file.writeFile(chunk);
  }
  await file.sync();
  return hash.digest('hex');
}

/** @throws Error where the database is damaged, is of a newer version, or names what is not there. */
async function requireWhole(file: string, root: string, { about, digests }: Found): Promise<RestoreReport> {
  await using database = await SqliteDatabase.open(file);
  const { query, dialect } = database;
  await requireSound(query);
  await migrate(database, root);
  const known = new Set(about.damaged.map(({ sha256 }) => sha256));
  for (const digest of await namedObjects(query, dialect))
    if (!digests.has(digest) && !known.has(digest))
      throw new Error(`it is damaged: it lacks ${digest}, which its database names`);
  const { rows } = await query<{ kos: number; retained: number }>(
    'SELECT (SELECT count(*) FROM ko WHERE removed = 0 AND folder IS NULL) AS kos, (SELECT count(*) FROM retained) AS retained',
  );
  await query('PRAGMA wal_checkpoint(TRUNCATE)');
  const { kos = 0, retained = 0 } = rows[0] ?? {};
  return { kos, retained, damaged: about.damaged };
}
