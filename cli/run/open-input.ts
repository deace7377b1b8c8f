import { createReadStream } from 'node:fs';
import type { Form } from './formats.ts';
import { PIPE } from './formats.ts';
import { readCsv } from './read-csv.ts';
import { readNdjson } from './read-ndjson.ts';
import type { Bytes, Source } from './source.ts';

const READ_BYTES = 256 * 1024;

/** @param size of a file; undefined of a pipe. @throws CommandFailure. */
export async function openInput(
  path: string,
  size: number | undefined,
  { format, delimiter }: Form,
  stdin: NodeJS.ReadableStream,
): Promise<Source> {
  const bytes: Bytes = {
    name: path === PIPE ? 'standard input' : path,
    size,
    stream: () =>
      path === PIPE
        ? (stdin as NodeJS.ReadableStream & AsyncIterable<Buffer>)
        : createReadStream(path, { highWaterMark: READ_BYTES }),
  };
  if (format === 'csv') return readCsv(bytes, delimiter);
  return readNdjson(bytes);
}
