import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isMissing } from '../disk-errors.ts';
import type { DurableFiles } from './durable-files.ts';
import { keyOf } from './package-content.ts';
import { parseRecord } from './pointer.ts';
import { placeTogether, type RemovedFolder } from './removed-folder.ts';
import { folderOfName, isOfObjects, recordName, type ShelfLayout } from './shelf-layout.ts';

export interface Orphans {
  readonly layout: ShelfLayout;
  readonly disk: DurableFiles;
  readonly removed: RemovedFolder;
}

/** Package folders, or records without one, to which nothing of these refers. */
export async function findOrphans({ objects }: ShelfLayout, referred: ReadonlySet<string>): Promise<string[]> {
  const folders = new Set((await readdir(objects)).filter(isOfObjects).map(folderOfName));
  return [...folders].filter((folder) => !referred.has(folder)).sort();
}

/**
 * Moves a package folder and its record, whichever of them is there, into a folder of `.removed/`.
 * @returns its name there, and the KO that it was, where a record says so.
 */
export async function moveOrphan(
  { layout, disk, removed }: Orphans,
  folder: string,
): Promise<{ place: string; key: string | undefined }> {
  const key = await koOf(layout, folder);
  const place = await placeTogether(removed, key?.replaceAll('/', '-') ?? folder);
  for (const name of [folder, recordName(folder)]) {
    await disk.move('orphan', join(layout.objects, name), join(place, name)).catch(unlessMissing);
  }
  await disk.syncFolder('orphan', place);
  await removed.sync();
  return { place: basename(place), key };
}

async function koOf(layout: ShelfLayout, folder: string): Promise<string | undefined> {
  try {
    return keyOf(parseRecord(await readFile(join(layout.objects, recordName(folder)), 'utf8')).pointer.content);
  } catch {
    return undefined;
  }
}

function unlessMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown;
}
