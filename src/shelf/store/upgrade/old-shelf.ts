/** What version 0.1 wrote into a shelf folder: in `.kgrid/index` what is on it, in `.kgrid/kept` what was deleted or replaced. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { koKey, parseKoId, type KoId } from '../../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../../knowledge-object/metadata.ts';
import { mapBounded } from '../../../lib/fair-queue.ts';
import { fieldsOf } from '../../../lib/json.ts';
import { isMissing, reasonOf } from '../../disk-errors.ts';
import { admit } from '../../package/admit.ts';
import { linesOf, sha256, type HashedFile, type PackageContent } from '../../package/package-content.ts';
import { readUnpacked, stampFolder } from '../../unpacked/unpacked-folder.ts';
import type { FoundPackage } from '../make-database.ts';
import type { ShelfLayout } from '../shelf-layout.ts';
import type { Warn } from '../stored-shelf.ts';

/** Where what is no longer needed lies, in `.kgrid`. */
export const PUT_ASIDE = 'before-0.2';
const FORMAT = 1;
const AT_ONCE = 8;

export interface OldPackage extends FoundPackage {
  /** Where its files lie. */
  readonly folder: string;
  /** True for a folder whose files a person may still change. */
  readonly isOfPerson?: boolean;
}

/** The index, what was kept, and a mark that is there while the index is empty for a reason. */
export const oldPlaces = ({ home }: Pick<ShelfLayout, 'home'>): { index: string; kept: string; emptyMark: string } => ({
  index: join(home, 'index'),
  kept: join(home, 'kept'),
  emptyMark: join(home, 'empty'),
});

/** Whether version 0.1 wrote it, and it was not taken over yet. */
export function isOld(layout: Pick<ShelfLayout, 'home'>): boolean {
  const { index, kept } = oldPlaces(layout);
  return existsSync(index) || existsSync(kept);
}

export const pointerNames = async (layout: ShelfLayout): Promise<string[]> =>
  (await namesIn(oldPlaces(layout).index)).filter((name) => name.endsWith('.json'));

/** What is on the shelf. */
export async function currentOf(layout: ShelfLayout, warn: Warn): Promise<OldPackage[]> {
  const found = await mapBounded(await pointerNames(layout), AT_ONCE, async (name) => {
    const id = idOfName(name.replace(/\.json$/, ''));
    try {
      const old = pointed(layout, await readFile(join(oldPlaces(layout).index, name), 'utf8'));
      if (id === undefined || koKey(old.content.entry.id) !== koKey(id))
        throw new Error('it has the name of another knowledge object');
      return [{ ...old, why: undefined, at: 0 }];
    } catch (thrown) {
      const where = id === undefined ? name : koKey(id);
      warn(
        `${where} could not be taken over: its entry .kgrid/index/${name} cannot be read: ${reasonOf(thrown)}; its files are in .kgrid/${PUT_ASIDE}`,
      );
      return [];
    }
  });
  return found.flat();
}

/** A package that was deleted or replaced and is kept: the name of its file says what it is. */
export interface KeptName {
  readonly id: KoId;
  readonly path: string;
  readonly digest: string;
  readonly why: 'deleted' | 'replaced';
  readonly at: number;
  /** Its folder below `objects/`, or another word. */
  readonly folder: string;
}

const KEPT = /^(\d{15})\.(deleted|replaced)\.([0-9a-f]{64})\.([0-9a-f]{64}-[0-9a-f-]{36}|exploded)\.json$/;

/** Of each KO the latest first. */
export async function keptNames(layout: ShelfLayout): Promise<KeptName[]> {
  const { kept } = oldPlaces(layout);
  const found: KeptName[] = [];
  for (const each of await namesIn(kept)) {
    const id = idOfName(each);
    if (id === undefined) continue;
    // Their names begin with the time.
    for (const name of (await namesIn(join(kept, each))).sort().reverse()) {
      const [, at, why, digest, folder] = KEPT.exec(name) ?? [];
      if (digest === undefined || folder === undefined) continue;
      const path = join(kept, each, name);
      found.push({ id, path, digest, why: why === 'deleted' ? why : 'replaced', at: Number(at), folder });
    }
  }
  return found;
}

/** What was deleted or replaced and is kept. */
export async function keptOf(layout: ShelfLayout, warn: Warn): Promise<OldPackage[]> {
  const olds: OldPackage[] = [];
  for (const { id, path, digest, why, at } of await keptNames(layout)) {
    try {
      const text = await readFile(path, 'utf8');
      const { removed } = fieldsOf(JSON.parse(text));
      const isMoved = typeof removed === 'string' && /^[^/]+$/.test(removed) && !/^\.\.?$/.test(removed);
      const old = isMoved ? await moved(join(layout.removed, removed), id.naan) : pointed(layout, text);
      if (old.content.entry.digest !== digest) throw new Error('its files are not what was kept');
      const { entry, files } = old.content;
      olds.push({ ...old, content: admit(id, entry.metadata, files.values()), why, at });
    } catch (thrown) {
      warn(`A package of ${koKey(id)} that was kept could not be taken over: ${reasonOf(thrown)}`);
    }
  }
  return olds;
}

type Read = Pick<OldPackage, 'content' | 'folder' | 'isOfPerson'>;

/** A folder of a person, which was moved away. */
async function moved(folder: string, naan: string): Promise<Read> {
  return { content: await readUnpacked(folder, await stampFolder(folder), naan), folder, isOfPerson: true };
}

function pointed(layout: ShelfLayout, text: string): Read {
  const { content, folder } = parsePointer(text);
  return { content, folder: join(layout.objects, folder) };
}

/** @throws Error whose message says, for the operator, why this is not a pointer that was written there. */
function parsePointer(text: string): { readonly content: PackageContent; readonly folder: string } {
  const { format, id: key, folder, files, metadata, digest, metadataSha256 } = fieldsOf(JSON.parse(text));
  if (format !== FORMAT) throw new Error(`it has format ${String(format)}, known is ${String(FORMAT)}`);
  const id = typeof key === 'string' ? parseKoId(key) : undefined;
  if (id === undefined || typeof folder !== 'string' || !/^[0-9a-f-]+$/.test(folder))
    throw new Error('its id or folder is not one');
  if (!Array.isArray(files) || !files.every(isFile)) throw new Error('it has no list of files');
  if (typeof metadata !== 'string') throw new Error('a text in it is missing');
  const content = admit(id, metadata, files);
  // The digests cover the list of files and the metadata: a changed byte in either shows.
  const artifacts = [...content.files.values()].filter(({ path }) => path !== METADATA_FILE);
  if (sha256(linesOf(artifacts)) !== digest || content.files.get(METADATA_FILE)?.sha256 !== metadataSha256)
    throw new Error('its content does not have the digests that it names');
  return { content, folder };
}

function isFile(value: unknown): value is HashedFile {
  const { path, size, sha256 } = fieldsOf(value);
  return typeof path === 'string' && typeof size === 'number' && typeof sha256 === 'string';
}

/** A part of an id holds no `-`, so that a name stands for one id only. */
function idOfName(name: string): KoId | undefined {
  const id = parseKoId(name.replaceAll('-', '/'));
  return id !== undefined && koKey(id) === name.replaceAll('-', '/') ? id : undefined;
}

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((thrown: unknown) => {
    if (isMissing(thrown)) return [];
    throw thrown;
  });
