/** Reads a zip that the service exported. */
import { buffer } from 'node:stream/consumers';
import { fromBufferPromise } from 'yauzl';

export interface ZipEntry {
  readonly path: string;
  readonly bytes: Buffer;
  readonly time: Date;
}

/** The entries in the order of the archive. */
export async function unzip(zip: Buffer): Promise<ZipEntry[]> {
  const file = await fromBufferPromise(zip, { lazyEntries: true });
  const entries: ZipEntry[] = [];
  for await (const entry of file.eachEntry()) {
    entries.push({
      path: entry.fileName,
      bytes: await buffer(await file.openReadStreamPromise(entry)),
      time: entry.getLastModDate(),
    });
  }
  return entries;
}
