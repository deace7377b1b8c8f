import { escapeForMessage } from '../../knowledge-object/escape-for-message.ts';
import { bytes } from './archive.ts';
import type { ArchiveLimits, Refusals } from './archive.ts';

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
