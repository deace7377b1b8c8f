import { createReadStream } from 'node:fs';
import type { Form } from './formats.ts';
import { PIPE } from './formats.ts';
import { readCsv } from './read-csv.ts';
import { usageFailure } from '../lib/exit.ts';
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
  if (format === 'parquet') {
    if (size === undefined) throw usageFailure(`Parquet is read from its end: write ${nameOf(path)} to a file first`);
    return (await import('./read-parquet.ts')).readParquet(path, size);
  }
  const bytes: Bytes = {
    name: nameOf(path),
    size,
    stream: () =>
      path === PIPE
        ? (stdin as NodeJS.ReadableStream & AsyncIterable<Buffer>)
        : createReadStream(path, { highWaterMark: READ_BYTES }),
  };
  if (format === 'csv') return readCsv(bytes, delimiter);
  return readNdjson(bytes);
}

const nameOf = (path: string): string => (path === PIPE ? 'standard input' : path);
