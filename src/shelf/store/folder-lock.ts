import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';

/** A lock on a folder itself. */
export interface FolderLock {
  release(): void;
}

/** Far more than a busy machine takes to start a program: a lock that is late is a lock all the same. */
const TIMEOUT_MS = 60_000;
const TAKEN = 1;

/**
 * Locks a folder itself. The lock is the kernel's and hangs on the folder's inode: nothing inside can be deleted to
 * get past it, and it ends with this process, however that ends.
 *
 * Node has no call for it. `flock` of util-linux or busybox locks the descriptor that it inherits; since the lock
 * belongs to what was opened, it stays with this process when `flock` has ended.
 * @returns `taken` by somebody else; `unavailable` where there is no `flock`, or the file system knows no such lock.
 */
export function lockFolder(path: string): FolderLock | 'taken' | 'unavailable' {
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
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
