import type { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

export interface ZipSource {
  /** A checked relative path with `/` between its segments. */
  readonly path: string;
  readonly content: Buffer | (() => Promise<Readable>);
}

const FILE_MODE = 0o100644;

/**
 * A zip of these files, as a stream that is made while it is read. Equal files always give equal bytes, whatever
 * their order, the clock and the time zone. The stream fails when one of the files does.
 */
export function writeZip(files: readonly ZipSource[]): Readable {
  const zip = new ZipFile();
  // The types say less than there is: yazl's output is a PassThrough.
  const output = zip.outputStream as Readable;
  // Zips hold local time: this is noon wherever it is made.
  const options = { mtime: new Date(2000, 0, 1, 12), forceDosTimestamp: true, mode: FILE_MODE };
  let reading: Readable | undefined;
  const fail = (error: Error): void => {
    output.destroy(error);
  };
  zip.on('error', fail);
  output.once('close', () => reading?.destroy());
  for (const { path, content } of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    if (Buffer.isBuffer(content)) {
      zip.addBuffer(content, path, options);
      continue;
    }
    zip.addReadStreamLazy(path, options, (deliver) => {
      if (output.destroyed) return;
      content().then((stream) => {
        reading = stream.once('error', fail);
        if (output.destroyed) stream.destroy();
        else deliver(null, stream);
      }, fail);
    });
  }
  zip.end();
  return output;
}
