/**
 * Takes over a shelf that version 0.1 wrote: pointers in `.kgrid/index`, packages in folders of `.kgrid/objects`, and what
 * it kept in `.kgrid/kept`. The database is made beside it and gets its name in one step: until then, and where that is
 * interrupted, the old shelf is as it was. What is no longer needed is put aside, in `.kgrid/before-0.2`.
 */
import { existsSync } from 'node:fs';
import { copyFile, link, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { koKey, type KoId } from '../../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../../knowledge-object/metadata.ts';
import { startRefused } from '../../../lib/errors.ts';
import { mapBounded } from '../../../lib/map-bounded.ts';
import { errnoOf, reasonOf } from '../../disk-errors.ts';
import { makeFolder, syncFolder, type DurableFiles } from '../durable-files.ts';
import { readUnpacked, stampFolder } from '../../unpacked/unpacked-folder.ts';
import { hashFile } from '../../package/hash-file.ts';
import { loadKept } from './kept-packages.ts';
import { loadIndex, pointerNames } from './load-index.ts';
import type { HashedFile, PackageContent } from '../../package/package-content.ts';
import { parsePointer, placeOfKept } from './pointer.ts';
import { isOfObjects, keptName, type ShelfLayout } from '../shelf-layout.ts';
import type { Query } from '../database.ts';
import { ObjectsFolder } from '../objects-folder.ts';
import type { Source } from '../objects.ts';
import { renderListing } from '../package-listing.ts';
import { addPackage } from '../packages.ts';
import { migrate } from '../schema.ts';
import { SqliteDatabase } from '../sqlite/sqlite-database.ts';
import type { Warn } from '../stored-shelf.ts';

/** Where what is no longer needed lies, in `.kgrid`. */
export const PUT_ASIDE = 'before-0.2';
const AT_ONCE = 8;

/** One package of the old shelf, and where its files lie. */
interface Old {
  readonly id: KoId;
  readonly content: PackageContent;
  readonly folder: string;
  /** True for a folder whose files a person may still change. */
  readonly isOfPerson?: boolean;
  /** Of what was deleted or replaced and is kept. */
  readonly kept?: { readonly at: number; readonly why: 'deleted' | 'replaced' };
}

interface TakeOverOptions {
  readonly layout: ShelfLayout;
  /** The database. */
  readonly file: string;
  readonly disk: DurableFiles;
  readonly warn: Warn;
}

/** @throws startRefused where it is not clear what is to be taken over. */
export async function takeOverFolder({ layout, file, disk, warn }: TakeOverOptions): Promise<void> {
  // It is there from before the database has its name until all is put aside.
  const part = join(layout.home, `${PUT_ASIDE}.part`);
  const isBegun = existsSync(part);
  if (!isOld(layout) && !isBegun) return;
  if (!existsSync(file)) {
    await requireIndex(layout);
    await requireRoom(layout);
    const temporary = `${file}.upgrading`;
    for (const name of [temporary, `${temporary}-wal`, `${temporary}-shm`]) await rm(name, { force: true });
    await makeDatabase(layout, temporary, disk, warn);
    await disk.createFolder('folder of the old shelf', join(part, 'objects'));
    await disk.move('database', temporary, file);
    await disk.syncFolder('database', layout.home);
  } else if (!isBegun) throw bothThere(layout);
  await putAside(layout, disk, part);
}

/** Whether version 0.1 wrote it, and it was not taken over yet. */
export const isOld = (layout: ShelfLayout): boolean => existsSync(layout.index) || existsSync(layout.kept);

const bothThere = ({ root }: ShelfLayout): Error =>
  startRefused(
    `--shelf: ${root} has a database, .kgrid/shelf.db, and an index of version 0.1, .kgrid/index, as after that version was used again: ` +
      'move shelf.db with its -wal and -shm away to take over what version 0.1 has, or .kgrid/index and .kgrid/kept to go on with the database',
  );

/** @throws startRefused where packages lie beside an index that is missing, or is empty without the mark that it may be. */
async function requireIndex(layout: ShelfLayout): Promise<void> {
  if (pointerNames(layout.index).length > 0 || (existsSync(layout.index) && existsSync(layout.emptyMark))) return;
  const kept = new Set(loadKept(layout).map(({ folder }) => folder));
  if ((await oldNames(layout)).every((name) => kept.has(name))) return;
  throw startRefused(
    `--shelf: ${layout.root} is of version 0.1, and has packages in .kgrid/objects, but no index of them in .kgrid/index: ` +
      'put it back from a backup, or make it again with kgrid shelf repair of version 0.1',
  );
}

/** @throws startRefused where something was put aside before. */
async function requireRoom({ root, home }: ShelfLayout): Promise<void> {
  if ((await readdir(join(home, PUT_ASIDE)).catch(() => [])).length > 0)
    throw startRefused(
      `--shelf: ${root} was taken over from version 0.1 before, and what was put aside is in .kgrid/${PUT_ASIDE} still: move that away first`,
    );
}

async function makeDatabase(layout: ShelfLayout, file: string, disk: DurableFiles, warn: Warn): Promise<void> {
  const { staging } = layout;
  await mkdir(staging, { recursive: true });
  const objects = new ObjectsFolder({ folder: layout.objects, staging, disk });
  const olds = [...currentOf(layout, warn), ...(await keptOf(layout, warn))];
  await mapBounded(olds, AT_ONCE, (old) => storeObjects(objects, old, disk));
  await using database = await SqliteDatabase.open(file, { onStep: disk.step });
  await migrate(database, layout.root);
  const { dialect } = database;
  await database.transaction(async ({ query }) => {
    let revision = 0;
    for (const old of olds) {
      await addPackage(query, dialect, old.content);
      if (old.kept === undefined) await addKo(query, old, ++revision);
      else await addRetained(query, old, old.kept);
    }
    await query('UPDATE state SET revision = $1', [revision]);
  });
  // The file alone has all of it when it gets its name.
  await database.query('PRAGMA wal_checkpoint(TRUNCATE)');
}

function currentOf(layout: ShelfLayout, warn: Warn): Old[] {
  const { kos, unreadable } = loadIndex(layout);
  for (const { where, cause } of unreadable)
    warn(`${where} could not be taken over: ${cause}; its files are in .kgrid/${PUT_ASIDE}`);
  return kos.map(({ content, folder }) => ({
    id: content.entry.id,
    content,
    folder: join(layout.objects, folder),
  }));
}

async function keptOf(layout: ShelfLayout, warn: Warn): Promise<Old[]> {
  const olds: Old[] = [];
  for (const { id, name, removed, why, digest } of loadKept(layout)) {
    const kept = { at: removed.getTime(), why };
    try {
      const text = await readFile(join(layout.kept, keptName(id), name), 'utf8');
      const place = placeOfKept(text);
      const old = place === undefined ? pointed(layout, text) : await moved(join(layout.removed, place), id.naan);
      if (old.content.entry.digest !== digest) throw new Error('its files are not what was kept');
      olds.push({ ...old, id, kept });
    } catch (thrown) {
      warn(`A package of ${koKey(id)} that was kept could not be taken over: ${reasonOf(thrown)}`);
    }
  }
  return olds;
}

async function moved(folder: string, naan: string): Promise<Omit<Old, 'id'>> {
  const content = await readUnpacked(folder, await stampFolder(folder), naan);
  return { content, folder, isOfPerson: true };
}

function pointed(layout: ShelfLayout, text: string): Omit<Old, 'id'> {
  const { content, folder } = parsePointer(text);
  return { content, folder: join(layout.objects, folder) };
}

/** Files that lie there get a second name: the old shelf stays whole. */
async function storeObjects(
  objects: ObjectsFolder,
  { id, content, folder, isOfPerson }: Old,
  disk: DurableFiles,
): Promise<void> {
  const listing = renderListing(id, content.files.values());
  const texts: Source[] = [
    { sha256: listing.digest, size: Buffer.byteLength(listing.text), from: { text: listing.text }, isListing: true },
  ];
  for (const file of content.files.values()) {
    if (file.path === METADATA_FILE)
      texts.push({ sha256: file.sha256, size: file.size, from: { text: content.entry.metadata } });
    else await linkObject(objects, join(folder, file.path), file, disk, isOfPerson);
  }
  const stored = await objects.put(texts, () => Promise.resolve(true));
  stored.release();
}

async function linkObject(
  objects: ObjectsFolder,
  from: string,
  { sha256, size }: HashedFile,
  disk: DurableFiles,
  isOfPerson = false,
): Promise<void> {
  const target = objects.pathOf(sha256);
  await makeFolder(dirname(target));
  // A file that is there from an attempt that was interrupted, or from another package, may be damaged.
  const there = await hashFile(target, size).catch(() => undefined);
  if (there === sha256) return;
  if (there !== undefined) await rm(target, { force: true });
  try {
    await disk.step('link object');
    await (isOfPerson ? copyDurably(from, target) : link(from, target));
  } catch (thrown) {
    // What is missing was damaged before, and is named when it is opened.
    if (errnoOf(thrown) === 'ENOENT') return;
    if (errnoOf(thrown) !== 'EEXIST') await copyDurably(from, target);
  }
  await syncFolder(dirname(target));
}

async function copyDurably(from: string, target: string): Promise<void> {
  await copyFile(from, target);
  await using file = await open(target, 'r');
  await file.sync();
}

async function addKo(query: Query, { id, content }: Old, revision: number): Promise<void> {
  const { entry, files } = content;
  await query(
    `INSERT INTO ko (id, name, digest, listing, metadata, at_id, etag, removed, revision)
      VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8)`,
    [
      koKey(id),
      `${id.naan}/${id.name}`,
      entry.digest,
      renderListing(id, files.values()).digest,
      entry.metadata,
      entry.atId ?? null,
      entry.etag,
      revision,
    ],
  );
}

async function addRetained(query: Query, { id, content }: Old, { at, why }: NonNullable<Old['kept']>): Promise<void> {
  const { digest } = content.entry;
  const listing = renderListing(id, content.files.values()).digest;
  await query(
    `INSERT INTO retained (id, digest, listing, at, why) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (id, digest) DO UPDATE SET at = max(retained.at, excluded.at)`,
    [koKey(id), digest, listing, at, why],
  );
}

/** Package folders and their records, which lie among the objects. */
const oldNames = async ({ objects }: ShelfLayout): Promise<string[]> =>
  (await readdir(objects).catch(() => [])).filter((name) => isOfObjects(name) && name.length > 2);

/** Goes on where it was interrupted. */
async function putAside(layout: ShelfLayout, disk: DurableFiles, part: string): Promise<void> {
  for (const name of await oldNames(layout))
    await disk.move('old package', join(layout.objects, name), join(part, 'objects', name));
  for (const path of [layout.index, layout.kept, layout.emptyMark])
    if (existsSync(path)) await disk.move('old index', path, join(part, basename(path)));
  await disk.move('folder of the old shelf', part, join(layout.home, PUT_ASIDE));
  await disk.syncFolder('folder of the old shelf', layout.home);
}
