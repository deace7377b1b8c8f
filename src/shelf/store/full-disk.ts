/** Whether the disk of a shelf has room for changes. */
import { statfsSync } from 'node:fs';

/** Bytes: with less, no change can be written down. */
const LEAST_FREE_BYTES = 1024 * 1024;

/** What is wrong; undefined where there is room, or where the file system cannot tell. */
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
