import { open, type FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import {
  isContent,
  refusalsOf,
  checkEntries,
  ratioProblem,
  type Archive,
  type ArchiveLimits,
  type UnpackedFile,
  type NamedEntry,
} from '../archive/archive.ts';
import { gunzip, isGzip, readFrom } from './gunzip.ts';
import { isTar } from './header.ts';
import { readTar } from './read-tar.ts';

export { isGzip, isTar };

const refused = refusalsOf('tar');

/**
 * Opens a tar, with gzip or without, and reads it once to its end before anything of it is taken: only then is known
 * what is in it, and that it is whole. @throws importRefused.
 */
export async function openTar(file: string, limits: ArchiveLimits): Promise<Archive> {
  const handle = await open(file, 'r');
  try {
    const { size: fileSize } = await handle.stat();
    const entries: NamedEntry[] = [];
    let total = 0;
    for await (const { name, isFolder, size } of readTar(bytesOf(handle, fileSize), limits)) {
      entries.push({ name, isFolder, size });
      total += size;
    }
    if (entries.length === 0) throw refused.archive('holds no files');
    const problem = ratioProblem(total, fileSize);
    if (problem !== undefined) throw refused.archive(problem);
    checkEntries(entries, limits, refused);
    return {
      kind: 'tar',
      entries: entries.filter(isFile).map(({ name, size }) => ({ path: name, size })),
      unpack: () => unpack(handle, fileSize, limits),
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** macOS adds to each file one with its attributes, `._<name>`. */
const isFile = ({ name, isFolder }: NamedEntry): boolean =>
  !isFolder && isContent(name) && !/(?:^|\/)\._[^/]*$/.test(name);

async function* unpack(handle: FileHandle, fileSize: number, limits: ArchiveLimits): AsyncGenerator<UnpackedFile> {
  for await (const entry of readTar(bytesOf(handle, fileSize), limits)) {
    if (!isFile(entry)) continue;
    const content = Readable.from(entry.content(), { objectMode: false });
    yield { path: entry.name, size: entry.size, content };
  }
}

async function* bytesOf(handle: FileHandle, fileSize: number): AsyncGenerator<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  if (isGzip(buffer.subarray(0, bytesRead))) yield* gunzip(handle, fileSize);
  else yield* readFrom(handle, 0, fileSize);
}
