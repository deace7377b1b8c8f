/** Reads every object of a shelf in a folder and says what is damaged; makes the database again where it is lost. */
import { existsSync } from 'node:fs';
import { readFile, rename, rm, stat } from 'node:fs/promises';
import { koKey } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { messageOf, startRefused } from '../../lib/errors.ts';
import { reasonOf } from '../disk-errors.ts';
import { admit } from '../package/admit.ts';
import { sha256 } from '../package/package-content.ts';
import { checkPackages, type CheckedPackages } from './check-packages.ts';
import { DurableFiles, syncFolder } from './durable-files.ts';
import { makeDatabase, type FoundPackage } from './make-database.ts';
import { ObjectsFolder } from './objects-folder.ts';
import { databaseIn, notedIn } from './open-stored-shelf.ts';
import { takeOwnership } from './owner-lock.ts';
import { parseListing } from './package-listing.ts';
import { shelfLayout, type ShelfLayout } from './shelf-layout.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';
import type { Warn } from './stored-shelf.ts';
import { isOld } from './upgrade/old-shelf.ts';

export interface ShelfReport extends CheckedPackages {
  /** Why the database cannot be used; undefined where it can. */
  readonly database: string | undefined;
}

export interface RebuiltReport extends ShelfReport {
  /** KOs that are on the shelf by the database that was made again. */
  readonly rebuilt: readonly string[];
  /** Where the damaged database was put aside. */
  readonly aside: string | undefined;
}

/** An activator may go on meanwhile. */
export async function checkShelf(root: string): Promise<ShelfReport> {
  const layout = shelfLayout(root);
  const database = await usable(layout);
  if (typeof database === 'string') return { whole: 0, damaged: [], database };
  await using open = database;
  return { ...(await checkPackages(open, objectsOf(layout))), database: undefined };
}

/** Where the database can be used, it stays. @throws startRefused while an activator has the shelf. */
export async function fixShelf(root: string, warn: Warn): Promise<RebuiltReport> {
  const layout = shelfLayout(root);
  const owner = takeOwnership(layout, undefined, warn);
  try {
    const found = await usable(layout);
    if (typeof found !== 'string') {
      await found[Symbol.asyncDispose]();
      return { ...(await checkShelf(root)), rebuilt: [], aside: undefined };
    }
    // Its packages have no listings: a database that is made from those would have nothing.
    if (isOld(layout))
      throw startRefused(`${root} is of version 0.1: start the service on it once, which takes it over`);
    const file = databaseIn(layout);
    const temporary = `${file}.new`;
    for (const each of [temporary, `${temporary}-wal`, `${temporary}-shm`]) await rm(each, { force: true });
    const objects = objectsOf(layout);
    const rebuilt = [...(await makeDatabase(temporary, root, await listedIn(objects, warn)))].sort();
    const aside = existsSync(file) ? `${file}.damaged-${new Date().toISOString().replaceAll(':', '-')}` : undefined;
    if (aside !== undefined) await rename(file, aside);
    for (const part of ['-wal', '-shm']) await rm(file + part, { force: true });
    await rm(notedIn(layout), { force: true });
    await rename(temporary, file);
    await syncFolder(layout.home);
    return { ...(await checkShelf(root)), rebuilt, aside: aside?.slice(root.length + 1) };
  } finally {
    owner.release();
  }
}

/** The database, or why it cannot be used. */
async function usable(layout: ShelfLayout): Promise<SqliteDatabase | string> {
  const file = databaseIn(layout);
  if (!existsSync(file)) return '.kgrid/shelf.db is missing';
  let database: SqliteDatabase | undefined;
  try {
    database = await SqliteDatabase.open(file, { isReadOnly: true });
    const { rows } = await database.query<{ quick_check: string }>('PRAGMA quick_check(1)');
    const said = rows[0]?.quick_check ?? '';
    if (said !== 'ok') throw new Error(said);
    await database.query('SELECT count(*) FROM ko JOIN package USING (digest)');
    return database;
  } catch (thrown) {
    await database?.[Symbol.asyncDispose]();
    return `.kgrid/shelf.db cannot be used: ${messageOf(thrown)}`;
  }
}

const objectsOf = ({ objects, staging }: ShelfLayout): ObjectsFolder =>
  new ObjectsFolder({ folder: objects, staging, disk: new DurableFiles() });

/** What the listings say, the latest first: a kill may have come between a change and its mark. */
async function listedIn(objects: ObjectsFolder, warn: Warn): Promise<FoundPackage[]> {
  const listed: FoundPackage[] = [];
  for await (const { digest, listing, path } of objects.all()) {
    if (listing === undefined) continue;
    try {
      const text = await readFile(path, 'utf8');
      if (sha256(text) !== digest) throw new Error('it is not what was stored');
      const { id, files } = parseListing(text);
      const metadata = files.find((file) => file.path === METADATA_FILE);
      const bytes = metadata && (await readFile(objects.pathOf(metadata.sha256), 'utf8'));
      if (metadata === undefined || bytes === undefined || sha256(bytes) !== metadata.sha256)
        throw new Error(`the ${METADATA_FILE} of ${koKey(id)} is not what was stored`);
      const { mtimeMs: at } = await stat(path);
      listed.push({ content: admit(id, bytes, files), why: listing === 'package' ? undefined : 'replaced', at });
    } catch (thrown) {
      warn(`The listing ${digest.slice(0, 12)} of a package cannot be used: ${reasonOf(thrown)}`);
    }
  }
  return listed.sort((a, b) => b.at - a.at);
}
