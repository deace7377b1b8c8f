import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { sha256 } from './package-content.ts';

/** Never follows a symbolic link: a file of a package is a regular file inside it. */
export const READ_REGULAR = constants.O_RDONLY | constants.O_NOFOLLOW;
/** Files up to this size are read at once, which is several times faster. */
const SMALL_BYTES = 1024 * 1024;

/** @returns lower-case hex. */
export async function hashFile(path: string, size: number): Promise<string> {
  await using file = await open(path, READ_REGULAR);
  if (size <= SMALL_BYTES) return sha256(await file.readFile());
  const hash = createHash('sha256');
  for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
