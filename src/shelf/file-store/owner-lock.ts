import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { startRefused } from '../../lib/errors.ts';
import { reasonOf } from './disk-errors.ts';
import type { ShelfLayout } from './shelf-layout.ts';
import type { Warn } from './stored-packages.ts';

const SQLITE_BUSY = 5;

/**
 * Makes this process the only owner of a shelf. The lock is the kernel's, held through SQLite, so that it ends
 * with the process, however that ends, and nothing stale is left.
 * @param address where this activator listens, for the message to a second one.
 * @returns gives the shelf up.
 * @throws startRefused, naming the activator that owns the shelf.
 */
export function takeOwnership(layout: ShelfLayout, address: string | undefined, warn: Warn): () => void {
  const database = lock(layout);
  try {
    const owner = { pid: process.pid, since: new Date().toISOString(), address };
    writeFileSync(layout.ownerNote, JSON.stringify(owner));
  } catch (thrown) {
    warn('A second activator on this shelf will not be told who owns it', thrown);
  }
  return () => {
    try {
      rmSync(layout.ownerNote, { force: true });
    } catch (thrown) {
      warn('The note of who owns this shelf could not be removed', thrown);
    }
    database.close();
  };
}

function lock(layout: ShelfLayout): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(layout.ownerLock);
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return database;
  } catch (thrown) {
    database?.close();
    const busy = thrown instanceof Error && 'errcode' in thrown && thrown.errcode === SQLITE_BUSY;
    if (!busy) throw startRefused(`--shelf: ${layout.root} cannot be locked: ${reasonOf(thrown)}`, { cause: thrown });
    throw startRefused(
      `--shelf: ${layout.root} is in use by another activator${ownerOf(layout)}; stop it or give this one a shelf of its own`,
    );
  }
}

/** ` (process 7, since …, http://…)`, or nothing where the note is missing. */
function ownerOf(layout: ShelfLayout): string {
  try {
    const note = JSON.parse(readFileSync(layout.ownerNote, 'utf8')) as { pid: number; since: string; address?: string };
    const address = note.address === undefined ? '' : `, ${note.address}`;
    return ` (process ${String(note.pid)}, since ${note.since}${address})`;
  } catch {
    return '';
  }
}
