import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { open } from 'node:fs/promises';
import { sha256 } from './package-content.ts';

/** Never follows a symbolic link: a file of a package is a regular file inside it. */
export const READ_REGULAR = fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW;
/**
 * The bytes of a regular file. Without a `FileHandle`, which takes most of the processor time that reading a small file takes.
 * `size`: where it is known, nobody asks the system for it; of a file that has grown there is one byte more.
 */
export function readRegular(path: string, size?: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    fs.open(path, READ_REGULAR, (notOpened, file) => {
      if (notOpened !== null) return reject(notOpened);
      const close = (notRead: Error | null, bytes: Buffer): void =>
        fs.close(file, (notClosed) => {
          const error = notRead ?? notClosed;
          if (error === null || error === undefined) resolve(bytes);
          else reject(error);
        });
      if (size === undefined) fs.readFile(file, close);
      else
        fs.read(file, Buffer.allocUnsafe(size + 1), 0, size + 1, 0, (notRead, length, bytes) =>
          close(notRead, bytes.subarray(0, length)),
        );
    });
  });
}

/** Files up to this size are read at once, which is several times faster. */
const SMALL_BYTES = 1024 * 1024;

/** @returns lower-case hex. */
export async function hashFile(path: string, size: number): Promise<string> {
  if (size <= SMALL_BYTES) return sha256(await readRegular(path));
  await using file = await open(path, READ_REGULAR);
  const hash = createHash('sha256');
  for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
