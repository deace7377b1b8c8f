/** Removes folders in which code wrote: deeper than any path can be, or closed to their owner too. */
import { randomUUID } from 'node:crypto';
import { chmod, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

const OPEN = 0o700;

/** Once nothing writes there any more. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    await flatten(folder);
    await rmdir(folder);
  }
}

/** Folders are brought up to the first, so that all paths stay short, until it is empty. */
async function flatten(folder: string): Promise<void> {
  await chmod(folder, OPEN);
  const raise = async (path: string): Promise<void> => {
    // Who moves a folder must be able to write in it.
    await chmod(path, OPEN);
    await rename(path, join(folder, randomUUID()));
  };
  const removeOne = async (path: string): Promise<void> => {
    await chmod(path, OPEN);
    await forEach(path, raise);
    await rmdir(path);
  };
  while ((await forEach(folder, removeOne)) > 0);
}

/** Removes what is no folder, and gives how many folders there were. */
async function forEach(folder: string, work: (path: string) => Promise<void>): Promise<number> {
  const folders = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) folders.push(path);
    else await unlink(path);
  }
  for (const path of folders) await work(path);
  return folders.length;
}
