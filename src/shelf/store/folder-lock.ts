/**
 * A lock on a folder itself. It is the kernel's and hangs on the folder's inode: nothing inside can be deleted to get past
 * it, and it ends with this process, however that ends.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { loadNative } from '../../lib/native.ts';

export interface FolderLock {
  release(): void;
}

/** `LOCK_EX | LOCK_NB` of flock(2). */
const EXCLUSIVE_AT_ONCE = 6;
/** Far more than a busy machine takes to start a program: a lock that is late is a lock all the same. */
const TIMEOUT_MS = 60_000;
const TAKEN = 1;

/** @returns `taken` by somebody else; `unavailable` where the file system, or this machine, knows no such lock. */
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
