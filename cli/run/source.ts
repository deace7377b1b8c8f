/** Where the records of a run come from, whatever their format. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../../src/lib/errors.ts';
import { usageFailure } from '../lib/exit.ts';
import { readCsv, readNdjson } from './read-csv.ts';
import { type Form, PIPE } from './settings.ts';

/** One record as it stands there: JSON text, the cells of a row, or why it cannot be read. */
export interface RawRecord {
  /** From 1: the line where it begins, or its row. */
  readonly line: number;
  readonly value: string | readonly unknown[] | Error;
}

/** What the values of a column are. Those of `text` and `json` are any, which as text are themselves or JSON. */
export type ColumnKind = 'boolean' | 'integer' | 'number' | 'string' | 'text' | 'json';

export interface Source {
  /** Undefined where each record brings names of its own. */
  readonly columns: readonly string[] | undefined;
  /** Kind of each column; undefined where all are text. */
  readonly kinds?: readonly ColumnKind[];
  /** Bytes or rows; undefined of a pipe. */
  readonly size: number | undefined;
  /** How much of them has been read. */
  readonly position: number;
  /** What to say of the input as a whole. */
  readonly notes: readonly string[];
  /** Many at a time, without the first ones; other columns than those that are used may be left out. @throws CommandFailure. */
  records(skip: number, used?: readonly number[]): AsyncIterable<readonly RawRecord[]>;
}

/** A file or a pipe of bytes. */
export interface Bytes {
  /** For messages. */
  readonly name: string;
  readonly size: number | undefined;
  readonly stream: () => NodeJS.ReadableStream & AsyncIterable<Buffer>;
}

/** Tells content from other content. */
export interface InputFacts {
  readonly size: number;
  readonly sha256: string;
}

/** Undefined for what is no file, such as a pipe. @throws CommandFailure. */
export async function fileSize(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw usageFailure(`${path} is a folder: name a file of records`);
    return found.isFile() ? found.size : undefined;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') throw usageFailure(`There is no ${path}`);
    throw thrown;
  }
}

/** Reads the whole file, which takes little beside running its records. */
export async function factsOf(path: string, size: number): Promise<InputFacts> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  } catch (thrown) {
    throw usageFailure(`${path} cannot be read: ${messageOf(thrown)}`);
  }
  return { size, sha256: hash.digest('hex') };
}

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
