import type { Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { DEFAULT_NAAN } from '../../knowledge-object/places.ts';
import { startRefused, type ServiceError } from '../../lib/errors.ts';
import { ChangeLog } from '../change-log.ts';
import type { KeepRemoved, Shelf } from '../shelf.ts';
import { isReadOnly, isTransient, reasonOf } from '../disk-errors.ts';
import { DurableFiles, makeFolder, syncFolder, tryToWrite, type OnStep } from './durable-files.ts';
import { requireIndex } from './empty-index.ts';
import { ExplodedPackages } from './exploded-packages.ts';
import { FileShelf } from './file-shelf.ts';
import { KeptPackages } from './kept-packages.ts';
import { takeOwnership } from './owner-lock.ts';
import { RemovedFolder } from './removed-folder.ts';
import { removeUnreferenced } from './remove-unreferenced.ts';
import { shelfLayout, type ShelfLayout } from './shelf-layout.ts';
import { StoredPackages, type Warn } from './stored-packages.ts';

/** Milliseconds between the attempts to read a shelf at the start. */
const READ_AGAIN_AFTER = [50, 200, 800];

export interface FileShelfOptions {
  /** Shown to a second activator that is started on the same shelf. */
  readonly address?: string | undefined;
  /** How much is kept of what is deleted or replaced; undefined: nothing comes to that, and nothing goes of it. */
  readonly keepRemoved?: KeepRemoved | undefined;
  /** For tests: epoch milliseconds. */
  readonly now?: (() => number) | undefined;
  /** The naan of the places of KOs whose `@id` is a word or a URL. */
  readonly defaultNaan?: string | undefined;
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
  const { defaultNaan = DEFAULT_NAAN } = options;
  const layout = shelfLayout(await shelfFolder(dir, warn));
  requireIndex(layout);
  const writable = await makeWritable(layout);
  if (!writable) warn('The shelf is read-only: it serves, and refuses every change');
  const owner = writable ? takeOwnership(layout, options.address, warn) : undefined;
  try {
    const disk = new DurableFiles(options.onStep);
    const changes = new ChangeLog();
    const removed = new RemovedFolder(layout, disk);
    const kept = new KeptPackages({ layout, disk, bounds: options.keepRemoved, now: options.now ?? Date.now });
    const parts = { layout, disk, changes, removed, kept, warn, defaultNaan };
    const stored = await eventually(dir, () => Promise.resolve(new StoredPackages(parts)));
    if (owner !== undefined) {
      await stored.noteIndex();
      await removeUnreferenced(parts, stored.loaded);
    }
    const exploded = new ExplodedPackages(parts);
    await eventually(dir, () => exploded.scan());
    void removed.count();
    return new FileShelf({ ...parts, stored, exploded, owner });
  } catch (thrown) {
    owner?.release();
    throw thrown;
  }
}

/** Tries again what fails for a reason that may pass. @throws startRefused where it does not in time. */
async function eventually<T>(dir: string, read: () => Promise<T>): Promise<T> {
  for (const delay of READ_AGAIN_AFTER) {
    try {
      return await read();
    } catch (thrown) {
      if (!isTransientFailure(thrown)) throw thrown;
      await wait(delay);
    }
  }
  return read().catch((thrown: unknown) => {
    throw isTransientFailure(thrown)
      ? startRefused(`--shelf: the folder ${dir} cannot be read (${reasonOf(thrown)})`)
      : thrown;
  });
}

const isTransientFailure = (thrown: unknown): boolean =>
  isTransient(thrown) || (thrown instanceof Error && isTransient(thrown.cause));

async function shelfFolder(dir: string, warn: Warn): Promise<string> {
  try {
    const made = await makeFolder(dir);
    if (made !== undefined) {
      warn(`--shelf: there was no folder ${dir}: it was made, and nothing is on it yet`);
      await syncFolder(dirname(made)).catch(() => undefined);
    }
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
    for (const folder of [layout.staging, layout.objects, layout.index, layout.kept]) {
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
