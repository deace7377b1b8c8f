/** A package on its way in, as one file: a zip, or a tar with or without gzip. */
import type { Readable } from 'node:stream';
import { importRefused, type ServiceError } from '../../lib/errors.ts';
import { escapeForMessage } from '../../lib/text.ts';

/** The same for all kinds; all in bytes but `entries`, a count. */
export interface ArchiveLimits {
  readonly unpacked: number;
  readonly file: number;
  readonly entries: number;
}

/** One file of an archive. */
interface ArchiveEntry {
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
interface Refusals {
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

/** What an archive says of an entry. */
export interface NamedEntry {
  /** As it is, with a `/` at the end for a folder. */
  readonly name: string;
  readonly isFolder: boolean;
  readonly size: number;
}

const MAX_RATIO = 200;
const RATIO_COUNTS_FROM_BYTES = 10 * 2 ** 20;

/** `unpacks to …`: where something is packed as nothing honest is. */
export const ratioProblem = (size: number, packed: number): string | undefined =>
  size > RATIO_COUNTS_FROM_BYTES && size > packed * MAX_RATIO
    ? `unpacks to more than ${MAX_RATIO} times its size, as no honest file of ${bytes(size)} does`
    : undefined;

/** Checks the entries against each other. @throws importRefused */
export function checkEntries(entries: readonly NamedEntry[], limits: ArchiveLimits, refused: Refusals): void {
  const total = entries.reduce((sum, { size }) => sum + size, 0);
  if (total > limits.unpacked) throw refused.archive(tooLarge(total, limits));
  const files = new Map<string, string>();
  const folders = new Set<string>();
  for (const { name, isFolder } of entries) {
    const parts = composed(name)
      .split('/')
      .slice(0, isFolder ? -1 : undefined);
    const key = parts.join('/');
    if (!isFolder) {
      const other = files.get(key);
      if (other === name) throw refused.entry(name, 'is there twice');
      if (other !== undefined)
        throw refused.entry(
          name,
          `has the same name as "${escapeForMessage(other)}" but for how its accents are written: rename one of them`,
        );
      files.set(key, name);
    }
    for (let depth = isFolder ? parts.length : parts.length - 1; depth > 0; depth--) {
      const folder = parts.slice(0, depth).join('/');
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  for (const [key, name] of files) if (folders.has(key)) throw refused.entry(name, 'is both a file and a folder');
}

export const tooLarge = (total: number, { unpacked }: ArchiveLimits): string =>
  `unpacks to ${bytes(total)}; a package may have ${bytes(unpacked)}`;

/** Two spellings of an accent look the same to everybody; two cases of a letter do not, and are two names. */
const composed = (name: string): string => name.normalize('NFC');

/** How large a package may be; all in bytes but `entries`, a count. */
export interface PackageLimits extends ArchiveLimits {
  /** The archive itself. */
  readonly zipped: number;
  readonly metadata: number;
  readonly descriptor: number;
}

const MB = 2 ** 20;

export const DEFAULT_PACKAGE_LIMITS: PackageLimits = {
  zipped: 100 * MB,
  unpacked: 300 * MB,
  file: 100 * MB,
  entries: 5_000,
  metadata: MB,
  descriptor: 5 * MB,
};
