import { copyFile, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../disk-errors.ts';
import { DurableFiles, syncFolder } from './durable-files.ts';
import type { KeptPackage } from './kept-name.ts';
import { loadKept } from './kept-packages.ts';
import { loadIndex, pointerNames } from './load-index.ts';
import { findOrphans, moveOrphan } from './orphans.ts';
import { takeOwnership } from './owner-lock.ts';
import { keyOf } from './package-content.ts';
import { faultOf } from './package-faults.ts';
import { PackageRecords } from './package-records.ts';
import { parseRecord, renderPointer, type Pointer } from './pointer.ts';
import { RemovedFolder } from './removed-folder.ts';
import { pointerName, recordName, shelfLayout, stagingName, type ShelfLayout } from './shelf-layout.ts';
import type { Warn } from './stored-packages.ts';

/** What a repair found and did; ids as `<naan>/<name>/<version>`. */
export interface RepairReport {
  /** Entries of the index that were whole. */
  readonly kept: string[];
  /** Entries that were made from a package. */
  readonly rebuilt: string[];
  /** Package folders that were moved to `.removed/`, and why. */
  readonly movedAway: { readonly folder: string; readonly why: string; readonly to: string }[];
  /** Entries that stay as they are and cannot be served. */
  readonly damaged: { readonly where: string; readonly cause: string }[];
}

/** A package folder that no whole entry refers to. */
interface Found {
  readonly folder: string;
  /** Undefined where nothing says what it is. */
  readonly pointer: Pointer | undefined;
  readonly stored: string;
  readonly fault: string | undefined;
}

/**
 * Makes the index again from the packages. An entry that is whole stays. Of the packages of one KO that are whole,
 * the one that was stored or got its metadata last, by its record, becomes the entry; all others move to `.removed/`.
 * @throws startRefused while an activator owns the shelf; errors of the system.
 */
export async function repairShelf(dir: string, warn: Warn): Promise<RepairReport> {
  const layout = shelfLayout(dir);
  await mkdir(layout.staging, { recursive: true });
  const owner = takeOwnership(layout, undefined, warn);
  try {
    return await repair(layout);
  } finally {
    owner.release();
  }
}

async function repair(layout: ShelfLayout): Promise<RepairReport> {
  const index = loadIndex(layout);
  const disk = new DurableFiles();
  await new PackageRecords(layout, disk).addMissing([...index.kos.values()]);
  const entries = new Map<string, Pointer>();
  const broken = new Map<string, { folder?: string; cause: string }>();
  for (const [where, { cause }] of index.unreadable) broken.set(where, { cause });
  for (const [key, entry] of index.kos) {
    const cause = await faultOf(layout, entry);
    if (cause === undefined) entries.set(key, entry);
    else broken.set(key, { folder: entry.folder, cause });
  }
  const kept = [...entries.keys()];

  const found = await inspectOthers(layout, entries);
  for (const { pointer, fault } of found) {
    const key = pointer === undefined ? '' : keyOf(pointer.content);
    if (pointer !== undefined && fault === undefined && !entries.has(key)) entries.set(key, pointer);
  }
  const rebuilt = [...entries.keys()].filter((key) => !kept.includes(key)).sort();
  const removed = new RemovedFolder(layout, disk);
  if (rebuilt.length > 0) await writeIndex(layout, disk, entries, rebuilt, removed);

  for (const key of rebuilt) broken.delete(key);
  const damaged = [...broken].map(([where, { cause }]) => ({ where, cause }));
  const serving = new Set([...entries.values(), ...broken.values()].map(({ folder }) => folder));
  // An entry that cannot be read may be the one of a package that nothing else names.
  const mayBeNamed = [...broken.values()].some(({ folder }) => folder === undefined);
  const movedAway: RepairReport['movedAway'] = [];
  const stays = new Set(loadKept(layout).map(({ folder }) => folder));
  for (const each of found) {
    if (serving.has(each.folder)) continue;
    if (stays.has(each.folder)) {
      await rm(join(layout.objects, recordName(each.folder)), { force: true });
      continue;
    }
    if (each.pointer === undefined && mayBeNamed) continue;
    const { place } = await moveOrphan({ layout, disk, removed }, each.folder);
    movedAway.push({ folder: each.folder, why: whyNot(each), to: `.removed/${place}` });
  }
  await rm(layout.emptyMark, { force: true });
  return { kept, rebuilt, movedAway, damaged };
}

/** The packages to which no whole entry refers, the newest first. */
async function inspectOthers(layout: ShelfLayout, entries: ReadonlyMap<string, Pointer>): Promise<Found[]> {
  const referred = new Set([...entries.values()].map(({ folder }) => folder));
  const kept = loadKept(layout);
  const found: Found[] = [];
  for (const folder of await findOrphans(layout, referred)) {
    const each = await inspect(layout, folder);
    const isKept = kept.some((other) => isOf(each, other));
    found.push(isKept ? { ...each, fault: 'it was deleted or replaced, and is kept' } : each);
  }
  const byAge = ({ stored, folder }: Found): string => `${stored} ${folder}`;
  return found.sort((a, b) => (byAge(a) < byAge(b) ? 1 : -1));
}

/** What was deleted or replaced does not come back by itself: a record beside it is what a kill left. */
const isOf = ({ folder, pointer }: Found, kept: KeptPackage): boolean =>
  folder === kept.folder && pointer?.content.entry.digest === kept.digest;

async function inspect(layout: ShelfLayout, folder: string): Promise<Found> {
  try {
    const { pointer, stored } = parseRecord(await readFile(join(layout.objects, recordName(folder)), 'utf8'));
    if (pointer.folder !== folder) throw new Error('its record is that of another package');
    const isThere = (await stat(join(layout.objects, folder)).catch(() => undefined))?.isDirectory() === true;
    return { folder, pointer, stored, fault: isThere ? await faultOf(layout, pointer) : 'its files are missing' };
  } catch (thrown) {
    return { folder, pointer: undefined, stored: '', fault: `nothing says what it is (${reasonOf(thrown)})` };
  }
}

const whyNot = ({ pointer, fault }: Found): string =>
  fault ?? (pointer === undefined ? 'nothing says what it is' : `${keyOf(pointer.content)} has a newer package`);

/**
 * Puts a new index in the place of the old one, which goes to `.removed/` as it is. When this is interrupted there
 * is the old one, the new one or none: then the start is refused as before, and the repair begins anew.
 */
async function writeIndex(
  layout: ShelfLayout,
  disk: DurableFiles,
  entries: ReadonlyMap<string, Pointer>,
  rebuilt: readonly string[],
  removed: RemovedFolder,
): Promise<void> {
  const next = stagingName(layout);
  await mkdir(next);
  for (const name of pointerNames(layout)) {
    const isFile = (await stat(join(layout.index, name))).isFile();
    if (isFile) await copyFile(join(layout.index, name), join(next, name));
  }
  for (const key of rebuilt) {
    const pointer = entries.get(key);
    if (pointer === undefined) continue;
    const target = join(next, pointerName(pointer.content.entry.id));
    await rm(target, { force: true });
    await disk.createFile('pointer', target, (file) => file.writeFile(renderPointer(pointer)));
  }
  await syncFolder(next);
  const old = await readdir(layout.index).catch(() => []);
  if (old.length > 0) {
    await rename(layout.index, await removed.place('index'));
    await removed.sync();
  }
  // An empty folder gives way.
  await rename(next, layout.index);
  await syncFolder(layout.home);
}
