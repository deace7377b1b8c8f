import { readFileSync, rmSync, statSync, writeFileSync, closeSync, constants, openSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { spawnSync } from 'node:child_process';
import { ServiceError, startRefused } from '../../lib/errors.ts';
import type { Warn } from './stored-shelf.ts';
import { loadNative } from '../../lib/native.ts';

/** A folder that one process alone may change. */
export interface OwnedPlace {
  /** The option that names it, and what it is called. */
  readonly option: '--shelf' | '--state';
  readonly root: string;
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
 * Makes this process the only owner of a folder.
 * @param address where this activator listens, for the message to a second one.
 * @throws startRefused, naming the activator that owns the folder.
 */
export function takeOwnership(place: OwnedPlace, address: string | undefined, warn: Warn): Owner {
  const lock = lockFolder(place.root);
  if (lock === 'taken') throw new ShelfInUse(place);
  if (lock === 'unavailable')
    throw startRefused(
      `${place.option}: ${place.root} cannot be locked, so a second activator could write there too: put it on a file system with locks (flock)`,
    );
  try {
    const owner = { pid: process.pid, since: new Date().toISOString(), address };
    writeFileSync(place.ownerNote, JSON.stringify(owner));
  } catch (thrown) {
    warn(`A second activator on this ${nounOf(place)} will not be told who owns it`, thrown);
  }
  return new LockedPlace(place, lock, warn);
}

class LockedPlace implements Owner {
  readonly #place: OwnedPlace;
  readonly #lock: FolderLock;
  readonly #warn: Warn;
  /** What was there when the folder was taken, by path. */
  readonly #places: Map<string, string | undefined>;
  #last: string | undefined;

  constructor(place: OwnedPlace, lock: FolderLock, warn: Warn) {
    this.#place = place;
    this.#lock = lock;
    this.#warn = warn;
    this.#places = new Map(place.parts.map((path) => [path, identityAt(path)]));
  }

  problem(): string | undefined {
    const problem = this.#moved();
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
    this.#lock.release();
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

interface FolderLock {
  release(): void;
}

/** `LOCK_EX | LOCK_NB` of flock(2). */
const EXCLUSIVE_AT_ONCE = 6;
/** Far more than a busy machine takes to start a program: a lock that is late is a lock all the same. */
const TIMEOUT_MS = 60_000;
const TAKEN = 1;

/**
 * Locks a folder itself. The lock is the kernel's and hangs on the folder's inode: nothing inside can be deleted to get past
 * it, and it ends with this process, however that ends.
 * @returns `taken` by somebody else; `unavailable` where the file system, or this machine, knows no such lock.
 */
export function lockFolder(path: string): FolderLock | 'taken' | 'unavailable' {
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  const flock = loadNative()?.func('int flock(int, int)');
  if (flock !== undefined && flock(folder, EXCLUSIVE_AT_ONCE) === 0) return { release: () => closeSync(folder) };
  // The program locks the descriptor that it inherits; the lock stays with what was opened when it has ended.
  const { status, stderr } = spawnSync('flock', ['-x', '-n', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', folder],
    env: {},
    timeout: TIMEOUT_MS,
  });
  if (status === 0) return { release: () => closeSync(folder) };
  closeSync(folder);
  // Whatever else goes wrong is told in words.
  return status === TAKEN && stderr.length === 0 ? 'taken' : 'unavailable';
}
