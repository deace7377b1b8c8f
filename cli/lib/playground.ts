/** Keeps an activator as the files of a folder are. */
import { join, posix } from 'node:path';
import { Mirror } from '../../src/check/activate-sources.ts';
import { type Finding, problem } from '../../src/check/findings.ts';
import { inspect, type Inspection } from '../../src/check/inspect.ts';
import { folderSource, type KoSource } from '../../src/check/ko-source.ts';
import type { LocalActivator } from '../../src/check/local-activator.ts';
import { type FolderListing, isAsListed, listPackageFiles } from '../../src/check/package-files.ts';
import { type KoId, koKey, parseKoId } from '../../src/knowledge-object/id.ts';
import { METADATA_FILE } from '../../src/knowledge-object/metadata.ts';
import { messageOf } from '../../src/lib/errors.ts';

/** One knowledge object that was looked at again. */
export interface Change {
  readonly inspection: Inspection;
  /** What is wrong with the package beside its endpoints. */
  readonly findings: readonly Finding[];
  /** It was not served before. */
  readonly isNew: boolean;
  /** What was saved is served; otherwise what was served before, if anything. */
  readonly isServed: boolean;
  /** When the last of its files was saved, in epoch milliseconds. */
  readonly saved: number;
}

export interface Changes {
  readonly changed: readonly Change[];
  /** Keys of knowledge objects that are no longer there. */
  readonly gone: readonly string[];
  /** False when it is worth looking again at once. */
  readonly complete: boolean;
}

interface Played {
  readonly mirror: Mirror;
  /** The state of the files at the last look. */
  stamp: string;
  /** `<naan>/<name>/<version>` of what is served; undefined when nothing could be so far. */
  key: string | undefined;
  /** Key that another folder has, and that this one would be served under. */
  waitsFor: string | undefined;
}

export class Playground {
  /** By the place of the folder. */
  readonly #played = new Map<string, Played>();
  #made = 0;

  /** Brings the shelf to what the folders hold; nothing is activated yet. */
  async update(shelf: string, sources: ReadonlyMap<string, KoSource>): Promise<Changes> {
    const left: string[] = [];
    for (const [folder, played] of this.#played) {
      if (sources.has(folder)) continue;
      this.#played.delete(folder);
      await played.mirror.remove();
      if (played.key !== undefined) left.push(played.key);
    }
    const changed: Change[] = [];
    let complete = true;
    for (const [folder, source] of sources) {
      const played = this.#played.get(folder) ?? this.#add(folder, shelf);
      const stamp = stampOf(source);
      const isFree = played.waitsFor !== undefined && this.#folderOf(played.waitsFor) === undefined;
      if (stamp === played.stamp && !isFree) continue;
      const before = played.key;
      try {
        const change = await this.#take(played, source);
        played.stamp = change === undefined ? '' : stamp;
        if (change === undefined) complete = false;
        else changed.push(change);
        if (before !== undefined && before !== played.key) left.push(before);
      } catch (thrown) {
        const { syscall, code } = thrown as NodeJS.ErrnoException;
        if (syscall === undefined) throw thrown;
        // What is gone by now changed once more while it was read; what may not be read stays so.
        played.stamp = code === 'ENOENT' ? '' : stamp;
        if (code === 'ENOENT') complete = false;
        else changed.push(unreadable(source, messageOf(thrown), before === undefined));
      }
    }
    const waits = [...this.#played.values()].some(({ waitsFor }) => waitsFor !== undefined && left.includes(waitsFor));
    return { changed, gone: left.filter((key) => this.#folderOf(key) === undefined), complete: complete && !waits };
  }

  #add(folder: string, shelf: string): Played {
    const mirror = new Mirror(join(shelf, `ko-${this.#made++}`));
    const played: Played = { mirror, stamp: '', key: undefined, waitsFor: undefined };
    this.#played.set(folder, played);
    return played;
  }

  /** @returns undefined when its metadata were saved meanwhile: what was read need not be what was copied. */
  async #take(played: Played, source: KoSource): Promise<Change | undefined> {
    const inspection = await inspect(source);
    const { ko, findings } = inspection;
    const isNew = played.key === undefined;
    const saved = Math.max(...[...source.files.values()].map((file) => file.saved));
    const duplicate = ko === undefined || ko.key === played.key ? undefined : this.#folderOf(ko.key);
    played.waitsFor = duplicate === undefined ? undefined : ko?.key;
    if (ko === undefined) return { inspection, findings, isNew, isServed: false, saved };
    if (duplicate !== undefined) {
      return {
        inspection,
        findings: [...findings, duplicateProblem(ko.key, duplicate)],
        isNew,
        isServed: false,
        saved,
      };
    }
    await played.mirror.update(source.folder, source.files);
    const metadata = source.files.get(METADATA_FILE);
    if (metadata !== undefined && !(await isAsListed(source.folder, metadata))) return undefined;
    played.key = ko.key;
    return { inspection, findings, isNew, isServed: true, saved };
  }

  /** The place of the folder that is served under this id. */
  #folderOf(key: string): string | undefined {
    return [...this.#played].find(([, played]) => played.key === key)?.[0];
  }
}

const unreadable = (source: KoSource, why: string, isNew: boolean): Change => ({
  inspection: { source, services: [], descriptors: { services: [], deployments: [] }, examples: [], findings: [] },
  findings: [problem('', undefined, `it cannot be read: ${why}`)],
  isNew,
  isServed: false,
  saved: Date.now(),
});

const duplicateProblem = (key: string, other: string): Finding =>
  problem(
    'metadata.json',
    undefined,
    `@id is ${key}, as in ${other}, which is served: give one of them another version or name`,
  );

/** Loads and activates what changed. */
export async function activateChanges({ app }: LocalActivator, { changed, gone }: Changes): Promise<void> {
  const served = changed.flatMap(({ inspection: { ko }, isServed }) => (isServed && ko !== undefined ? [ko.id] : []));
  const left = gone.map((key) => parseKoId(key)).filter((id): id is KoId => id !== undefined);
  if (served.length + left.length > 0) await app.activator.reloadImported([...served, ...left]);
}

export const nameOf = ({ inspection: { metadata, source } }: Change): string =>
  metadata === undefined ? source.label : koKey(metadata.id);

// The knowledge objects in a folder, as they are at one moment.

/** "A folder of any name, up to three levels deep, with a `metadata.json`." */
const MAX_DEPTH = 3;

export interface PlayedFolders {
  /** By their place below the folder; '' where the folder itself is one. */
  readonly sources: ReadonlyMap<string, KoSource>;
  /** All folders to watch, relative. */
  readonly folders: readonly string[];
}

export async function findPlayed(root: string): Promise<PlayedFolders> {
  const listing = await listPackageFiles(root);
  const sources = new Map(packageFoldersIn(listing).map((folder) => [folder, sourceIn(root, folder, listing)]));
  return { sources, folders: listing.folders };
}

function packageFoldersIn({ files }: FolderListing): string[] {
  if (files.has(METADATA_FILE)) return [''];
  const folders: string[] = [];
  for (const path of files.keys()) {
    const folder = posix.dirname(path);
    const isPackageFolder = posix.basename(path) === METADATA_FILE && folder.split('/').length <= MAX_DEPTH;
    // A knowledge object may have files of that name below it.
    if (isPackageFolder && !folders.some((other) => folder.startsWith(`${other}/`))) folders.push(folder);
  }
  return folders.filter((folder) => !folders.some((other) => folder !== other && folder.startsWith(`${other}/`)));
}

function sourceIn(root: string, folder: string, { files, leftOut }: FolderListing): KoSource {
  if (folder === '') return folderSource(root, { files, leftOut });
  const below = <T extends { readonly path: string }>(all: Iterable<T>): T[] =>
    [...all]
      .filter(({ path }) => path.startsWith(`${folder}/`))
      .map((each) => ({ ...each, path: each.path.slice(folder.length + 1) }));
  return folderSource(join(root, folder), {
    files: new Map(below(files.values()).map((file) => [file.path, file])),
    leftOut: below(leftOut),
  });
}

/** The same as long as no file changed. */
const stampOf = ({ files }: KoSource): string =>
  [...files.values()].map(({ path, stamp }) => `${path} ${stamp}`).join('\n');
