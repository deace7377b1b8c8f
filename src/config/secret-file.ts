/** Secrets that stand in files, so that no list of processes and no environment shows them. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { startRefused } from '../lib/errors.ts';

/** A mistaken name, such as that of a device, must not fill the memory. */
const MAX_BYTES = 64 * 1024;
const MIN_KEY_BYTES = 32;
/** Permissions of users who are neither the owner nor in the group of a file. */
const PERMISSIONS_OF_OTHERS = 0o007;

/** The text of the file without the newline at its end. @throws startRefused. */
export function readPassword(path: string, source: string): string {
  const text = read(path, source)
    .bytes.toString('utf8')
    .replace(/\r?\n$/, '');
  if (text === '') throw startRefused(`${source} names ${path}, which is empty: write the password into it`);
  return text;
}

/** The bytes of the file as they are. @throws startRefused. */
export function readKey(path: string, source: string): Buffer {
  const { bytes, mode } = read(path, source);
  if ((mode & PERMISSIONS_OF_OTHERS) !== 0)
    throw startRefused(`${source} names ${path}, which every user of this machine may open: chmod 600 ${path}`);
  if (bytes.length < MIN_KEY_BYTES)
    throw startRefused(
      `${source} names ${path}, which has ${bytes.length} bytes, but must have at least ${MIN_KEY_BYTES}: head -c 32 /dev/urandom > ${path}`,
    );
  return bytes;
}

function read(path: string, source: string): { bytes: Buffer; mode: number } {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (thrown) {
    throw unreadable(path, source, thrown);
  }
  try {
    const bytes = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    for (let got = -1; got !== 0 && length <= MAX_BYTES; length += got)
      got = readSync(file, bytes, length, MAX_BYTES + 1 - length, null);
    if (length > MAX_BYTES) throw startRefused(`${source} names ${path}, which has more than ${MAX_BYTES} bytes`);
    return { bytes: bytes.subarray(0, length), mode: fstatSync(file).mode };
  } catch (thrown) {
    if (thrown instanceof Error && 'syscall' in thrown) throw unreadable(path, source, thrown);
    throw thrown;
  } finally {
    closeSync(file);
  }
}

const unreadable = (path: string, source: string, thrown: unknown): Error =>
  startRefused(
    `${source} names ${path}, which cannot be read (${(thrown as NodeJS.ErrnoException).code ?? 'unknown'})`,
  );
