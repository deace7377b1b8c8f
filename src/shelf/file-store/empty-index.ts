import { existsSync, readdirSync } from 'node:fs';
import { startRefused } from '../../lib/errors.ts';
import { isMissing } from '../disk-errors.ts';
import type { DurableFiles } from './durable-files.ts';
import { loadKept } from './kept-packages.ts';
import { pointerNames } from './load-index.ts';
import { folderOfName, isOfObjects, type ShelfLayout } from './shelf-layout.ts';

/**
 * Nothing says which of the packages are on the shelf, and all would count as left over.
 * @throws startRefused where packages lie beside an index that is missing, or is empty without the mark that it may be.
 */
export function requireIndex(layout: ShelfLayout): void {
  if (pointerNames(layout).length > 0) return;
  const packages = packagesOn(layout).size;
  if (packages === 0) return;
  const isThere = existsSync(layout.index);
  if (isThere && existsSync(layout.emptyMark)) return;
  const many = packages === 1 ? '1 package' : `${String(packages)} packages`;
  throw startRefused(
    `--shelf: ${layout.root} has ${many} in .kgrid/objects, but the index of them, .kgrid/index, is ${isThere ? 'empty' : 'missing'}: ` +
      `put it back from a backup, or rebuild it with: npx kgrid shelf repair ${quoted(layout.root)}`,
  );
}

/** But those that were deleted or replaced and are kept: what is on the shelf has a record. */
function packagesOn(layout: ShelfLayout): Set<string> {
  const names = namesIn(layout.objects).filter(isOfObjects);
  const kept = new Set(loadKept(layout).map(({ folder }) => folder));
  return new Set(names.filter((name) => !kept.has(name)).map(folderOfName));
}

/** Says on the disk whether the index may be empty. */
export class EmptyMark {
  readonly #layout: ShelfLayout;
  readonly #disk: DurableFiles;
  #isThere: boolean;

  constructor(layout: ShelfLayout, disk: DurableFiles) {
    this.#layout = layout;
    this.#disk = disk;
    this.#isThere = existsSync(layout.emptyMark);
  }

  /** Before the last entry goes, and after the first has come; durable when this returns. */
  async set(empty: boolean): Promise<void> {
    if (this.#isThere === empty) return;
    const { emptyMark, home } = this.#layout;
    if (empty) await this.#disk.createFile('mark', emptyMark, (file) => file.writeFile(WORDS)).catch(unlessThere);
    else await this.#disk.remove('mark', emptyMark);
    await this.#disk.syncFolder('mark', home);
    this.#isThere = empty;
  }
}

const WORDS = 'The index is empty for a reason: nothing was imported, or all was deleted.\n';

function unlessThere(thrown: unknown): void {
  if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (thrown) {
    if (isMissing(thrown)) return [];
    throw thrown;
  }
}

const quoted = (path: string): string =>
  /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
