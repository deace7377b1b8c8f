import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ServiceError, startRefused } from '../../lib/errors.ts';
import { reasonOf } from './disk-errors.ts';
import { lockFolder, type FolderLock } from './folder-lock.ts';
import type { ShelfLayout } from './shelf-layout.ts';
import type { Warn } from './stored-packages.ts';

const SQLITE_BUSY = 5;

/** This process as the only one that changes a shelf. */
export interface Owner {
  /** Why it may not write now: what it locked is no longer what lies there. Undefined as long as all is well. */
  problem(): string | undefined;
  /** Gives the shelf up. */
  release(): void;
}

/**
 * Makes this process the only owner of a shelf, by two locks of the kernel, which end with the process, however that
 * ends, so that nothing stale is left: one on the shelf folder itself, and one, held through SQLite, on a file in it,
 * for file systems and machines on which the first cannot be had.
 * @param address where this activator listens, for the message to a second one.
 * @throws startRefused, naming the activator that owns the shelf.
 */
export function takeOwnership(layout: ShelfLayout, address: string | undefined, warn: Warn): Owner {
  const database = lockFile(layout);
  const folder = lockFolder(layout.root);
  if (folder === 'taken') {
    database.close();
    throw new ShelfInUse(layout);
  }
  if (folder === 'unavailable') warn('The shelf folder itself cannot be locked: leave .kgrid/owner.db in it alone');
  try {
    const owner = { pid: process.pid, since: new Date().toISOString(), address };
    writeFileSync(layout.ownerNote, JSON.stringify(owner));
  } catch (thrown) {
    warn('A second activator on this shelf will not be told who owns it', thrown);
  }
  return new LockedShelf(layout, database, folder === 'unavailable' ? undefined : folder, warn);
}

class LockedShelf implements Owner {
  readonly #layout: ShelfLayout;
  readonly #folder: FolderLock | undefined;
  readonly #warn: Warn;
  /** What was there when the shelf was taken, by path. */
  readonly #places: ReadonlyMap<string, string | undefined>;
  #database: DatabaseSync;
  #file: string | undefined;
  #lost: string | undefined;
  #last: string | undefined;

  constructor(layout: ShelfLayout, database: DatabaseSync, folder: FolderLock | undefined, warn: Warn) {
    this.#layout = layout;
    this.#database = database;
    this.#folder = folder;
    this.#warn = warn;
    const { root, home, objects, index } = layout;
    this.#places = new Map([root, home, objects, index].map((path) => [path, identityAt(path)]));
    this.#file = identityAt(layout.ownerLock);
  }

  problem(): string | undefined {
    const problem = this.#lost ?? this.#moved() ?? this.#fileGone();
    if (problem !== undefined && problem !== this.#last) this.#warn(problem);
    this.#last = problem;
    return problem;
  }

  release(): void {
    // A note that lies where another activator is at home is not this one's.
    if (identityAt(this.#layout.home) === this.#places.get(this.#layout.home)) {
      try {
        rmSync(this.#layout.ownerNote, { force: true });
      } catch (thrown) {
        this.#warn('The note of who owns this shelf could not be removed', thrown);
      }
    }
    this.#database.close();
    this.#folder?.release();
  }

  /** Over once it is back: nobody else could have it, since it is locked. */
  #moved(): string | undefined {
    for (const [path, identity] of this.#places) {
      if (identityAt(path) === identity) continue;
      const what =
        path === this.#layout.root ? 'The shelf folder' : `${relative(this.#layout.root, path)} of the shelf`;
      return `${what} was moved, deleted or replaced while this activator runs: nothing is written until it is back or the activator is started again`;
    }
    return undefined;
  }

  #fileGone(): string | undefined {
    if (identityAt(this.#layout.ownerLock) === this.#file) return undefined;
    const gone = '.kgrid/owner.db of the shelf was deleted or replaced while this activator runs';
    const started = 'start this activator again, and let no other one run on this shelf';
    // Without the other lock, somebody may have been here since.
    if (this.#folder === undefined) return (this.#lost = `${gone}: nothing is written any more; ${started}`);
    try {
      const database = lockFile(this.#layout);
      this.#database.close();
      this.#database = database;
      this.#file = identityAt(this.#layout.ownerLock);
      this.#warn(`${gone}: it was made again; no other activator can have had the shelf, since its folder is locked`);
      return undefined;
    } catch {
      return (this.#lost = `${gone}, and another process has it now: nothing is written any more; ${started}`);
    }
  }
}

/** Two files are the same where this is. */
function identityAt(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${String(dev)} ${String(ino)}`;
  } catch {
    return undefined;
  }
}

function lockFile(layout: ShelfLayout): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(layout.ownerLock);
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return database;
  } catch (thrown) {
    database?.close();
    const busy = thrown instanceof Error && 'errcode' in thrown && thrown.errcode === SQLITE_BUSY;
    if (busy) throw new ShelfInUse(layout);
    throw startRefused(`--shelf: ${layout.root} cannot be locked: ${reasonOf(thrown)}`, { cause: thrown });
  }
}

/** Another process has the shelf. */
export class ShelfInUse extends ServiceError {
  constructor(layout: ShelfLayout) {
    const message = `--shelf: ${layout.root} is in use by another activator${ownerOf(layout)}; stop it or give this one a shelf of its own`;
    super('start-refused', 500, 'Internal Server Error', message);
  }
}

/** ` (process 7, since …, http://…)`, or nothing where the note is missing. */
function ownerOf(layout: ShelfLayout): string {
  const note = readOwnerNote(layout);
  if (note === undefined) return '';
  const address = note.address === undefined ? '' : `, ${note.address}`;
  return ` (process ${String(note.pid)}, since ${note.since}${address})`;
}

/** What the owner of a shelf wrote of itself; undefined where there is no such note. */
export function readOwnerNote(layout: ShelfLayout): { pid: number; since: string; address?: string } | undefined {
  try {
    return JSON.parse(readFileSync(layout.ownerNote, 'utf8')) as { pid: number; since: string; address?: string };
  } catch {
    return undefined;
  }
}
