/** The one door for archives: what a file is, its first bytes say, whatever its name. */
import { open } from 'node:fs/promises';
import { isGzip, isTar, openTar } from '../tar/open-tar.ts';
import { openZip } from '../zip/open-zip.ts';
import type { Archive, ArchiveLimits } from './archive.ts';

/** Up to the magic number of a tar. */
const HEAD_BYTES = 512;

/**
 * Opens an archive and checks all of it but the contents of its files.
 * @throws importRefused with the reason, and the entry where it is one.
 */
export async function openArchive(file: string, limits: ArchiveLimits): Promise<Archive> {
  const head = await headOf(file);
  return isGzip(head) || isTar(head) ? openTar(file, limits) : openZip(file, limits);
}

async function headOf(file: string): Promise<Buffer> {
  await using handle = await open(file, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}
