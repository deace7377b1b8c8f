import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { packageTooLarge } from '../../lib/errors.ts';
import { asWriteError } from '../disk-errors.ts';
import { makeFolder } from '../store/durable-files.ts';
import { bytes } from '../archive/archive.ts';

/** A stream that became a file, since a zip must be read at random. It goes with its disposal. */
export interface SpooledFile extends AsyncDisposable {
  readonly path: string;
}

/** Also the folder of a check. */
const NAME = /^(?:upload|check)-[0-9a-f-]{36}$/;

/**
 * Puts a stream into a new file of a folder.
 * @throws packageTooLarge beyond `limit` bytes; shelfFull; shelfNotWritable; the error of the stream itself.
 */
export async function spool(folder: string, content: Readable, limit: number): Promise<SpooledFile> {
  const path = join(folder, `upload-${crypto.randomUUID()}`);
  const remove = (): Promise<void> => rm(path, { force: true });
  try {
    await makeFolder(folder);
    await using file = await open(path, 'wx', 0o600);
    let size = 0;
    for await (const chunk of content) {
      const data = Buffer.from(chunk as Buffer | string);
      size += data.length;
      if (size > limit) throw packageTooLarge(`The package is larger than the limit of ${bytes(limit)}.`);
      await file.writeFile(data);
    }
    return { path, [Symbol.asyncDispose]: remove };
  } catch (thrown) {
    // What was never begun to be read would else stay open.
    content.destroy();
    await remove().catch(() => undefined);
    // Where the source of the content failed, not the disk, the error is the caller's own.
    throw content.errored === thrown ? thrown : asWriteError(thrown);
  }
}

/** What a process that was killed left in a folder goes; anything else stays. */
export async function clearSpool(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name));
  for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
}
