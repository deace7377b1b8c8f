import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ServiceError, startRefused } from '../../lib/errors.ts';
import { reasonOf } from '../disk-errors.ts';
import { lockFolder, type FolderLock } from './folder-lock.ts';
import type { Warn } from './stored-shelf.ts';

const SQLITE_BUSY = 5;

/** A folder that one process alone may change. */
export interface OwnedPlace {
  /** The option that names it, and what it is called. */
  readonly option: '--shelf' | '--state';
  readonly root: string;
  /** Held open and locked by the owner. */
  readonly ownerLock: string;
  /** Tells a second one who the first is. */
  readonly ownerNote: string;
  /** What must stay where it is while it is owned, `root` among it. */
  readonly parts: readonly string[];
}

/** This process as the only one that changes a folder. */
export interface Owner {
  /** Why it may not write now: what it locked is no longer what lies there. Undefined as long as all is well. */
  problem(): string | undefined;
  /** From now on this must stay where it is, too. */
  guard(path: string): void;
  /** Gives the folder up. */
  release(): void;
}

/**
 * Makes this process the only owner of a folder, by two locks of the kernel, which end with the process, however that
 * ends, so that nothing stale is left: one on the folder itself, and one, held through SQLite, on a file in it,
 * for file systems and machines on which the first cannot be had.
 * @param address where this activator listens, for the message to a second one.
 * @throws startRefused, naming the activator that owns the folder.
 */
export function takeOwnership(place: OwnedPlace, address: string | undefined, warn: Warn): Owner {
  const database = lockFile(place);
  const folder = lockFolder(place.root);
  if (folder === 'taken') {
    database.close();
    throw new ShelfInUse(place);
  }
  if (folder === 'unavailable')
    warn(`The ${nounOf(place)} itself cannot be locked: leave ${relative(place.root, place.ownerLock)} in it alone`);
  try {
    const owner = { pid: process.pid, since: new Date().toISOString(), address };
    writeFileSync(place.ownerNote, JSON.stringify(owner));
  } catch (thrown) {
    warn(`A second activator on this ${nounOf(place)} will not be told who owns it`, thrown);
  }
  return new LockedPlace(place, database, folder === 'unavailable' ? undefined : folder, warn);
}

class LockedPlace implements Owner {
  readonly #place: OwnedPlace;
  readonly #folder: FolderLock | undefined;
  readonly #warn: Warn;
  /** What was there when the folder was taken, by path. */
  readonly #places: Map<string, string | undefined>;
  #database: DatabaseSync;
  #file: string | undefined;
  #lost: string | undefined;
  #last: string | undefined;

  constructor(place: OwnedPlace, database: DatabaseSync, folder: FolderLock | undefined, warn: Warn) {
    this.#place = place;
    this.#database = database;
    this.#folder = folder;
    this.#warn = warn;
    this.#places = new Map(place.parts.map((path) => [path, identityAt(path)]));
    this.#file = identityAt(place.ownerLock);
  }

  problem(): string | undefined {
    const problem = this.#lost ?? this.#moved() ?? this.#fileGone();
    if (problem !== undefined && problem !== this.#last) this.#warn(problem);
    this.#last = problem;
    return problem;
  }

  guard(path: string): void {
    this.#places.set(path, identityAt(path));
  }

  release(): void {
    // A note that lies where another activator is at home is not this one's.
    const home = dirname(this.#place.ownerNote);
    if (identityAt(home) === this.#places.get(home)) {
      try {
        rmSync(this.#place.ownerNote, { force: true });
      } catch (thrown) {
        this.#warn(`The note of who owns this ${nounOf(this.#place)} could not be removed`, thrown);
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
        path === this.#place.root ? `The ${nounOf(this.#place)}` : `${relative(this.#place.root, path)} of the shelf`;
      return `${what} was moved, deleted or replaced while this activator runs: nothing is written until it is back or the activator is started again`;
    }
    return undefined;
  }

  #fileGone(): string | undefined {
    if (identityAt(this.#place.ownerLock) === this.#file) return undefined;
    const { root, ownerLock, option } = this.#place;
    const noun = option.slice('--'.length);
    const gone = `${relative(root, ownerLock)} of the ${noun} was deleted or replaced while this activator runs`;
    const started = `start this activator again, and let no other one run on this ${noun}`;
    // Without the other lock, somebody may have been here since.
    if (this.#folder === undefined) return (this.#lost = `${gone}: nothing is written any more; ${started}`);
    try {
      const database = lockFile(this.#place);
      this.#database.close();
      this.#database = database;
      this.#file = identityAt(this.#place.ownerLock);
      this.#warn(`${gone}: it was made again; no other activator can have had the ${noun}, since its folder is locked`);
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

function lockFile(place: OwnedPlace): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(place.ownerLock);
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return database;
  } catch (thrown) {
    database?.close();
    const busy = thrown instanceof Error && 'errcode' in thrown && thrown.errcode === SQLITE_BUSY;
    if (busy) throw new ShelfInUse(place);
    throw startRefused(`${place.option}: ${place.root} cannot be locked: ${reasonOf(thrown)}`, { cause: thrown });
  }
}

/** Another process has the folder. */
export class ShelfInUse extends ServiceError {
  constructor(place: OwnedPlace) {
    const own = place.option === '--shelf' ? 'shelf' : 'state folder';
    const message = `${place.option}: ${place.root} is in use by another activator${ownerOf(place)}; stop it or give this one a ${own} of its own`;
    super('start-refused', 500, 'Internal Server Error', message);
  }
}

/** ` (process 7, since …, http://…)`, or nothing where the note is missing. */
function ownerOf(place: OwnedPlace): string {
  const note = readOwnerNote(place);
  if (note === undefined) return '';
  const address = note.address === undefined ? '' : `, ${note.address}`;
  return ` (process ${String(note.pid)}, since ${note.since}${address})`;
}

/** What the owner of a folder wrote of itself; undefined where there is no such note. */
export function readOwnerNote(place: OwnedPlace): { pid: number; since: string; address?: string } | undefined {
  try {
    return JSON.parse(readFileSync(place.ownerNote, 'utf8')) as { pid: number; since: string; address?: string };
  } catch {
    return undefined;
  }
}

const nounOf = ({ option }: OwnedPlace): string => (option === '--shelf' ? 'shelf folder' : 'state folder');
