import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Never follows a symbolic link: a file of a package is a regular file inside it. */
export const READ_REGULAR = constants.O_RDONLY | constants.O_NOFOLLOW;

/** @returns lower-case hex. */
export async function hashFile(path: string): Promise<string> {
  await using file = await open(path, READ_REGULAR);
  const hash = createHash('sha256');
  for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
