/** A package on its way in, as one file: a zip, or a tar with or without gzip. */
import type { Readable } from 'node:stream';
import { escapeForMessage } from '../../knowledge-object/escape-for-message.ts';
import { importRefused } from '../../lib/errors.ts';
import type { ServiceError } from '../../lib/errors.ts';

/** The same for all kinds; all in bytes but `entries`, a count. */
export interface ArchiveLimits {
  readonly unpacked: number;
  readonly file: number;
  readonly entries: number;
}

/** One file of an archive. */
export interface ArchiveEntry {
  /** A checked relative path with `/` between its segments. */
  readonly path: string;
  /** Bytes, unpacked. */
  readonly size: number;
}

export interface UnpackedFile extends ArchiveEntry {
  /** To be read to its end before the next is asked for. Fails with importRefused when it is not what the archive says. */
  readonly content: Readable;
}

export interface Archive extends AsyncDisposable {
  readonly kind: ArchiveKind;
  /** The files, in the order of the archive; folders, and what macOS adds (`__MACOSX/`, `.DS_Store`), are left out. */
  readonly entries: readonly ArchiveEntry[];
  /** All of them, one after the other. */
  unpack(): AsyncIterable<UnpackedFile>;
}

export type ArchiveKind = 'zip' | 'tar';

/** How what is wrong with an archive is told. */
export interface Refusals {
  /** The archive as a whole cannot be taken: `why` completes "The zip file …". */
  readonly archive: (why: string, cause?: unknown) => ServiceError;
  /** One entry cannot be taken: `why` completes "The zip entry "<name>" …". */
  readonly entry: (name: string, why: string, cause?: unknown) => ServiceError;
}

export const refusalsOf = (kind: ArchiveKind): Refusals => ({
  archive: (why, cause) => importRefused(`The ${kind} file ${why}`, { cause }),
  entry: (name, why, cause) => importRefused(`The ${kind} entry "${escapeForMessage(name)}" ${why}`, { cause }),
});

/** Bytes for people: megabytes, rounded up to a tenth, from 1 MB on. */
export const bytes = (count: number): string =>
  count < 2 ** 20 ? `${count} bytes` : `${Math.ceil((10 * count) / 2 ** 20) / 10} MB`;

/** "`__MACOSX/`, `.DS_Store` ignored": what macOS adds to a folder that it packs. */
export const isContent = (name: string): boolean => !name.startsWith('__MACOSX/') && !/(?:^|\/)\.DS_Store$/.test(name);
