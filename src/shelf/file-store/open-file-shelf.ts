import type { Stats } from 'node:fs';
import { mkdir, open, readdir, realpath, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startRefused, type ServiceError } from '../../lib/errors.ts';
import type { Shelf } from '../shelf.ts';
import { isFull, isReadOnly, reasonOf } from './disk-errors.ts';
import { DurableFiles, makeFolder, syncFolder, type OnStep } from './durable-files.ts';
import { ExplodedPackages } from './exploded-packages.ts';
import { FileShelf } from './file-shelf.ts';
import { takeOwnership } from './owner-lock.ts';
import { shelfLayout, type ShelfLayout } from './shelf-layout.ts';
import { StoredPackages, type Warn } from './stored-packages.ts';

export interface FileShelfOptions {
  /** Shown to a second activator that is started on the same shelf. */
  readonly address?: string | undefined;
  /** Hears what went wrong without failing an operation. */
  readonly onWarning?: Warn | undefined;
  /** For tests: called before each durable step, by name. What it throws fails the step. */
  readonly onStep?: OnStep | undefined;
}

/**
 * Opens the shelf that lies in a folder, and makes the folder where it is missing.
 * @throws startRefused when there can be no such folder, or another activator owns it.
 */
export async function openFileShelf(dir: string, options: FileShelfOptions = {}): Promise<Shelf> {
  const warn = options.onWarning ?? (() => undefined);
  const layout = shelfLayout(await shelfFolder(dir));
  const writable = await makeWritable(layout);
  if (!writable) warn('The shelf is read-only: it serves, and refuses every change');
  const giveUp = writable ? takeOwnership(layout, options.address, warn) : () => undefined;
  try {
    const disk = new DurableFiles(options.onStep);
    const stored = new StoredPackages(layout, disk, warn);
    if (writable) await stored.removeLeftovers(warn);
    const exploded = new ExplodedPackages(layout, disk);
    await exploded.scan();
    return new FileShelf({ layout, disk, stored, exploded, writable, warn, giveUp });
  } catch (thrown) {
    giveUp();
    throw thrown;
  }
}

async function shelfFolder(dir: string): Promise<string> {
  try {
    const made = await mkdir(dir, { recursive: true });
    if (made !== undefined) await syncFolder(dirname(made)).catch(() => undefined);
    await readdir(dir);
    return await realpath(dir);
  } catch (thrown) {
    throw refusal(dir, await stat(dir).catch(() => undefined), thrown);
  }
}

function refusal(dir: string, found: Stats | undefined, thrown: unknown): ServiceError {
  if (found === undefined) return startRefused(`--shelf: the folder ${dir} cannot be made (${reasonOf(thrown)})`);
  if (!found.isDirectory()) return startRefused(`--shelf: ${dir} is a file; give a folder`);
  return startRefused(`--shelf: the folder ${dir} cannot be read (${reasonOf(thrown)})`);
}

/** @returns false for a shelf that this process may only read. */
async function makeWritable(layout: ShelfLayout): Promise<boolean> {
  try {
    for (const folder of [layout.staging, layout.objects, layout.index]) {
      const made = await makeFolder(folder);
      // A folder that is lost with the power takes along what was stored in it.
      if (made !== undefined) await syncFolder(dirname(made));
      await tryToWrite(folder);
    }
    await tryToWrite(layout.home);
    return true;
  } catch (thrown) {
    if (isReadOnly(thrown)) return false;
    throw startRefused(`--shelf: the folder ${layout.home} cannot be made (${reasonOf(thrown)})`, { cause: thrown });
  }
}

async function tryToWrite(folder: string): Promise<void> {
  const probe = join(folder, `probe-${crypto.randomUUID()}`);
  try {
    await (await open(probe, 'wx')).close();
  } catch (thrown) {
    // A full disk can be written again one day; until then it serves.
    if (!isFull(thrown)) throw thrown;
  }
  await rm(probe, { force: true });
}
