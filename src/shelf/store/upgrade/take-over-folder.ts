/**
 * Takes over a shelf that version 0.1 wrote: pointers in `.kgrid/index`, packages in folders of `.kgrid/objects`, and what
 * it kept in `.kgrid/kept`. The database is made beside it and gets its name in one step: until then, and where that is
 * interrupted, the old shelf is as it was. What is no longer needed is put aside, in `.kgrid/before-0.2`.
 */
import { existsSync } from 'node:fs';
import { copyFile, link, mkdir, open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { METADATA_FILE } from '../../../knowledge-object/metadata.ts';
import { startRefused } from '../../../lib/errors.ts';
import { mapBounded } from '../../../lib/fair-queue.ts';
import { errnoOf } from '../../disk-errors.ts';
import { hashFile, type HashedFile } from '../../package/package-content.ts';
import { makeFolder, syncFolder, type DurableFiles } from '../durable-files.ts';
import { makeDatabase } from '../make-database.ts';
import { ObjectsFolder } from '../objects-folder.ts';
import { textsOf } from '../package-listing.ts';
import type { ShelfLayout } from '../shelf-layout.ts';
import type { Warn } from '../stored-shelf.ts';
import {
  currentOf,
  isOld,
  keptNames,
  keptOf,
  oldPlaces,
  pointerNames,
  PUT_ASIDE,
  type OldPackage,
} from './old-shelf.ts';

const AT_ONCE = 8;

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
    await takeOver(layout, temporary, disk, warn);
    await disk.createFolder('folder of the old shelf', join(part, 'objects'));
    await disk.move('database', temporary, file);
    await disk.syncFolder('database', layout.home);
  } else if (!isBegun) throw bothThere(layout);
  await putAside(layout, disk, part);
}

const bothThere = ({ root }: ShelfLayout): Error =>
  startRefused(
    `--shelf: ${root} has a database, .kgrid/shelf.db, and an index of version 0.1, .kgrid/index, as after that version was used again: ` +
      'move shelf.db with its -wal and -shm away to take over what version 0.1 has, or .kgrid/index and .kgrid/kept to go on with the database',
  );

/** @throws startRefused where packages lie beside an index that is missing, or is empty without the mark that it may be. */
async function requireIndex(layout: ShelfLayout): Promise<void> {
  const { index, emptyMark } = oldPlaces(layout);
  if ((await pointerNames(layout)).length > 0 || (existsSync(index) && existsSync(emptyMark))) return;
  const kept = new Set((await keptNames(layout)).map(({ folder }) => folder));
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

async function takeOver(layout: ShelfLayout, file: string, disk: DurableFiles, warn: Warn): Promise<void> {
  await mkdir(layout.staging, { recursive: true });
  const objects = new ObjectsFolder({ folder: layout.objects, staging: layout.staging, disk });
  const olds = [...(await currentOf(layout, warn)), ...(await keptOf(layout, warn))];
  await mapBounded(olds, AT_ONCE, (old) => storeObjects(objects, old, disk));
  await makeDatabase(file, layout.root, olds, disk.step);
}

/** Files that lie there get a second name: the old shelf stays whole. */
async function storeObjects(
  objects: ObjectsFolder,
  { content, folder, isOfPerson }: OldPackage,
  disk: DurableFiles,
): Promise<void> {
  for (const file of content.files.values())
    if (file.path !== METADATA_FILE) await linkObject(objects, join(folder, file.path), file, disk, isOfPerson);
  (await objects.put(textsOf(content), () => Promise.resolve(true))).release();
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

/** Package folders and their records, which lie among the objects, without what desktops leave there. */
const oldNames = async ({ objects }: ShelfLayout): Promise<string[]> =>
  (await readdir(objects).catch(() => [])).filter((name) => !name.startsWith('.') && name.length > 2);

/** Goes on where it was interrupted. */
async function putAside(layout: ShelfLayout, disk: DurableFiles, part: string): Promise<void> {
  for (const name of await oldNames(layout))
    await disk.move('old package', join(layout.objects, name), join(part, 'objects', name));
  for (const path of Object.values(oldPlaces(layout)))
    if (existsSync(path)) await disk.move('old index', path, join(part, basename(path)));
  await disk.move('folder of the old shelf', part, join(layout.home, PUT_ASIDE));
  await disk.syncFolder('folder of the old shelf', layout.home);
}
