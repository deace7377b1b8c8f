import { access, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../disk-errors.ts';
import { syncFolder } from '../store/durable-files.ts';
import { readOwnerNote, ShelfInUse, takeOwnership, type Owner } from '../store/owner-lock.ts';
import { removedAt, sizeOf } from './removed-folder.ts';
import { shelfLayout, type ShelfLayout } from '../store/shelf-layout.ts';

/** One entry of `.removed/`. */
export interface RemovedEntry {
  readonly name: string;
  readonly removed: Date;
  readonly bytes: number;
  /** True where an activator that runs put it there: its endpoints may still read from it. */
  readonly inUse: boolean;
}

/** What lies in `.removed/`, the oldest first. @throws errors of the system. */
export async function listRemoved(dir: string): Promise<RemovedEntry[]> {
  const layout = shelfLayout(dir);
  return list(layout, await startOfOwner(layout));
}

/** Deletes entries of `.removed/` for good, but those that are in use. @returns the names of those that went. */
export async function deleteRemoved(dir: string, names: readonly string[]): Promise<string[]> {
  const layout = shelfLayout(dir);
  const free = (await list(layout, await startOfOwner(layout))).filter(({ inUse }) => !inUse);
  const gone = free.map(({ name }) => name).filter((name) => names.includes(name));
  for (const name of gone) await rm(join(layout.removed, name), { recursive: true, force: true });
  if (gone.length > 0) await syncFolder(layout.removed);
  return gone;
}

async function list({ removed }: ShelfLayout, ownedSince: Date | undefined): Promise<RemovedEntry[]> {
  const names = await readdir(removed).catch((thrown: unknown) => {
    if (!isMissing(thrown)) throw thrown;
    return [];
  });
  const entries: RemovedEntry[] = [];
  for (const name of names) {
    const path = join(removed, name);
    const found = await stat(path);
    const time = removedAt(name) ?? found.ctime;
    const bytes = found.isDirectory() ? (await sizeOf(path)).bytes : found.size;
    entries.push({ name, removed: time, bytes, inUse: ownedSince !== undefined && time >= ownedSince });
  }
  return entries.sort((a, b) => a.removed.getTime() - b.removed.getTime());
}

/** Since when an activator has the shelf; undefined where none does. Of one that did not say so, everything counts as in use. */
async function startOfOwner(layout: ShelfLayout): Promise<Date | undefined> {
  const isShelf = await access(layout.home).then(
    () => true,
    () => false,
  );
  if (!isShelf) return undefined;
  const note = readOwnerNote(layout);
  let owner: Owner;
  try {
    owner = takeOwnership(layout, undefined, () => undefined);
  } catch (thrown) {
    if (!(thrown instanceof ShelfInUse)) throw thrown;
    return new Date(note?.since ?? 0);
  }
  owner.release();
  return undefined;
}
