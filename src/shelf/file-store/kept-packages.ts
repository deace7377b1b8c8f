import { readdirSync } from 'node:fs';
import { access, readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { KoId } from '../../knowledge-object/id.ts';
import { isMissing } from '../disk-errors.ts';
import type { KeepRemoved } from '../shelf.ts';
import { makeFolder, syncFolder, type DurableFiles } from './durable-files.ts';
import { idOfKept, parseKeptName, renderKeptName, type KeptPackage } from './kept-name.ts';
import type { PackageContent } from './package-content.ts';
import { parsePointer, renderKept, placeOfKept, type Pointer } from './pointer.ts';
import { keptName, stagingName, type ShelfLayout } from './shelf-layout.ts';

/** Where the files of a package are that is about to be kept. */
export type KeptPlace = { readonly folder: string } | { readonly removed: string };

export interface KeptPackagesOptions {
  readonly layout: ShelfLayout;
  readonly disk: DurableFiles;
  /** Undefined: nothing comes, and nothing goes. */
  readonly bounds: KeepRemoved | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** What is kept of a KO, the latest first, and what of it goes. */
export interface Sorted {
  readonly stay: readonly KeptPackage[];
  readonly go: readonly KeptPackage[];
}

/**
 * The packages that were deleted or replaced and are kept: a file for each, which says what its pointer did. Their files
 * stay where they were, in `objects/`, or, of folders of people, in `.removed/`.
 */
export class KeptPackages {
  readonly #options: KeptPackagesOptions;

  constructor(options: KeptPackagesOptions) {
    this.#options = options;
  }

  get keepsAny(): boolean {
    const { bounds } = this.#options;
    return bounds !== undefined && bounds.count > 0 && bounds.age > 0;
  }

  /** All that is kept of a KO, the latest first, whether it may stay or not. */
  async list(id: KoId): Promise<KeptPackage[]> {
    const names = await readdir(this.#folderOf(id)).catch(noneWhereMissing);
    return inOrder(id, names);
  }

  /** The KOs of which something may be kept. */
  async ids(): Promise<KoId[]> {
    return idsIn(await readdir(this.#options.layout.kept).catch(noneWhereMissing));
  }

  /** @param current the digest of what is there now. */
  async sorted(id: KoId, current: string | undefined): Promise<Sorted> {
    const all = await this.list(id);
    if (all.length === 0) return { stay: all, go: [] };
    const { bounds, now } = this.#options;
    const known = new Set(current === undefined ? [] : [current]);
    const [stay, go]: [KeptPackage[], KeptPackage[]] = [[], []];
    for (const each of all) {
      const isWithin =
        bounds === undefined || (stay.length < bounds.count && now() - each.removed.getTime() < bounds.age);
      const isGone = each.folder === undefined && !(await this.#isThere(each));
      (isWithin && !isGone && !known.has(each.digest) ? stay : go).push(each);
      known.add(each.digest);
    }
    return { stay, go };
  }

  /** Says on the disk that a package is kept, before it goes. @returns undefined where nothing may be kept. */
  async add(content: PackageContent, why: KeptPackage['why'], place: KeptPlace): Promise<KeptPackage | undefined> {
    if (!this.keepsAny) return undefined;
    const { disk, layout, now } = this.#options;
    const { id, digest } = content.entry;
    const folder = this.#folderOf(id);
    const [latest] = await this.list(id);
    // The order is that in which they went, whatever the clock does.
    const removed = new Date(Math.max(now(), (latest?.removed.getTime() ?? 0) + 1));
    const stored = 'folder' in place ? place.folder : undefined;
    const name = renderKeptName({ removed, why, digest, folder: stored });
    if ((await makeFolder(folder)) !== undefined) await syncFolder(layout.kept);
    await disk.replaceFile('kept package', join(folder, name), stagingName(layout), renderKept(content, place));
    return { id, digest, removed, why, folder: stored, name };
  }

  async read({ id, name }: KeptPackage): Promise<{ pointer: Pointer; removed: string | undefined }> {
    const text = await readFile(join(this.#folderOf(id), name), 'utf8');
    return { pointer: parsePointer(text), removed: placeOfKept(text) };
  }

  /** From now on it is not kept any more; its files are the caller's. */
  async drop({ id, name }: KeptPackage): Promise<void> {
    const folder = this.#folderOf(id);
    await this.#options.disk.remove('kept package', join(folder, name));
    await rmdir(folder).catch(() => undefined);
  }

  #folderOf(id: KoId): string {
    return join(this.#options.layout.kept, keptName(id));
  }

  /** A person may have emptied `.removed/`. */
  async #isThere(kept: KeptPackage): Promise<boolean> {
    const { removed } = await this.read(kept).catch(() => ({ removed: undefined }));
    if (removed === undefined) return false;
    return access(join(this.#options.layout.removed, removed)).then(
      () => true,
      (thrown: unknown) => !isMissing(thrown),
    );
  }
}

/** All that is kept on a shelf. Synchronous, since nothing else runs yet. */
export function loadKept({ kept }: Pick<ShelfLayout, 'kept'>): KeptPackage[] {
  return idsIn(namesIn(kept)).flatMap((id) => inOrder(id, namesIn(join(kept, keptName(id)))));
}

const idsIn = (names: readonly string[]): KoId[] =>
  names.flatMap((name) => {
    const id = idOfKept(name);
    return id === undefined ? [] : [id];
  });

/** Their names begin with the time. */
const inOrder = (id: KoId, names: readonly string[]): KeptPackage[] =>
  names
    .toSorted()
    .reverse()
    .flatMap((name) => parseKeptName(id, name) ?? []);

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (thrown) {
    return noneWhereMissing(thrown);
  }
}

function noneWhereMissing(thrown: unknown): string[] {
  if (isMissing(thrown)) return [];
  throw thrown;
}
