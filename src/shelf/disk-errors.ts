import { statfsSync } from 'node:fs';
import { messageOf, ServiceError, shelfFull, shelfNotWritable, tooManyOpen } from '../lib/errors.ts';
import { isOutOfHandles } from '../lib/errors.ts';

/** `ENOSPC` and the like; undefined for what is not an error of the system. */
export function errnoOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

export const isMissing = (thrown: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(errnoOf(thrown) ?? '');

/** These say what is there; every other error of reading may be over the next time. */
const LASTING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG']);

/** Nothing is said of what was to be read: the same may succeed a little later. */
export function isTransient(thrown: unknown): boolean {
  if (thrown instanceof ServiceError) return thrown.status === 503;
  const errno = errnoOf(thrown);
  return errno !== undefined && !LASTING.has(errno);
}

/** What a person may be told: messages of the system name paths of the host. */
export const reasonOf = (thrown: unknown): string => errnoOf(thrown) ?? messageOf(thrown);

/** For the health of the service, not for callers. */
export const shelfUnreadable = (cause: unknown): Error =>
  new Error(`The shelf folder cannot be read (${reasonOf(cause)})`, { cause });

/** The shelf, or a part of it, may be read but not written by this process. */
export const isReadOnly = (thrown: unknown): boolean => ['EROFS', 'EACCES', 'EPERM'].includes(errnoOf(thrown) ?? '');

export const isFull = (thrown: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(errnoOf(thrown) ?? '');

/** Runs changes to the disk; errors of the system become those of the contract, all others pass. */
export async function writing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw asWriteError(thrown);
  }
}

/** The error of the contract for an error of the system; anything else as it is. */
export function asWriteError(thrown: unknown): unknown {
  const errno = errnoOf(thrown);
  if (errno === undefined || thrown instanceof ServiceError) return thrown;
  if (isFull(thrown)) {
    return shelfFull('The shelf has no space left; nothing was changed. Free space on its disk and try again.', {
      cause: thrown,
    });
  }
  if (isReadOnly(thrown)) return readOnlyShelf(thrown);
  if (isOutOfHandles(thrown)) return tooManyOpen(thrown);
  return shelfNotWritable(`The shelf's disk refused to write (${errno}); nothing was changed.`, { cause: thrown });
}

export const readOnlyShelf = (cause?: unknown): ServiceError =>
  shelfNotWritable('The shelf is read-only: knowledge objects on it can be read and run, not added or changed.', {
    cause,
  });

/** Why something cannot be a folder that is written to. */
export function whyUnusable(thrown: unknown): string {
  const reason = reasonOf(thrown);
  return reason === 'EEXIST' || reason === 'ENOTDIR' ? 'it is a file, or lies below one' : reason;
}

/** Bytes: with less, no change can be written down. */
const LEAST_FREE_BYTES = 1024 * 1024;

/** Whether the disk of a shelf has room for changes: what is wrong; undefined where there is room, or where the file system cannot tell. */
export function fullDisk(root: string): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(root);
    if (bavail * bsize >= LEAST_FREE_BYTES) return undefined;
    return 'The disk of the shelf is full: nothing can be changed until there is space on it';
  } catch {
    // That it cannot be read is told by others.
    return undefined;
  }
}
