import { opendir, stat, access, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncFolder, type DurableFiles } from '../store/durable-files.ts';
import { isMissing } from '../disk-errors.ts';
import { shelfLayout, type ShelfLayout } from '../store/shelf-layout.ts';
import { readOwnerNote, ShelfInUse, takeOwnership, type Owner } from '../store/owner-lock.ts';

/** How much lies in `.removed/`. */
interface RemovedSize {
  readonly entries: number;
  readonly bytes: number;
}

/** So long a count is good enough for the health. */
const COUNT_AGAIN_MS = 60_000;

/** `.removed/`: what left the shelf and was not deleted. Only a person empties it. */
export class RemovedFolder {
  readonly #path: string;
  readonly #disk: DurableFiles;
  /** What came there since has a later time, whatever the clock does: `kgrid shelf clean` leaves it to this process. */
  readonly #opened = Date.now();
  #size: RemovedSize | undefined;
  #counted = -Infinity;
  #counting: Promise<void> | undefined;

  constructor(layout: ShelfLayout, disk: DurableFiles) {
    this.#path = layout.removed;
    this.#disk = disk;
  }

  /**
   * Moves a file or folder there, durable when this returns; where that fails, it is where it was.
   * @param what names the step. @param move by default a rename.
   */
  async take(
    what: string,
    path: string,
    move = (from: string, to: string): Promise<void> => this.#disk.move(what, from, to),
  ): Promise<void> {
    await this.#disk.createFolder('removed', this.#path);
    this.#counted = -Infinity;
    const target = join(this.#path, removedName(basename(path), new Date(Math.max(Date.now(), this.#opened))));
    await move(path, target);
    try {
      await this.#disk.syncFolder('removed', this.#path);
      await this.#disk.syncFolder('folder of what was removed', dirname(path));
    } catch (thrown) {
      await move(target, path);
      throw thrown;
    }
  }

  /** As it was counted last; counted again behind it, so that nobody waits. Undefined before the first count. */
  get size(): RemovedSize | undefined {
    if (performance.now() - this.#counted > COUNT_AGAIN_MS) void this.count();
    return this.#size;
  }

  /** Counts in the background of whatever else goes on. Never rejects. */
  count(): Promise<void> {
    this.#counting ??= this.#count().finally(() => (this.#counting = undefined));
    return this.#counting;
  }

  async #count(): Promise<void> {
    this.#counted = performance.now();
    const size = await sizeOf(this.#path).catch(() => undefined);
    if (size !== undefined) this.#size = size;
  }
}

/** `<name>.<time>.<number>`: what was moved away when. */
const removedName = (name: string, time: Date): string =>
  `${name}.${time.toISOString().replaceAll(':', '-')}.${crypto.randomUUID().slice(0, 8)}`;

/** The time that a name in `.removed/` says; undefined for what came there in another way. */
function removedAt(name: string): Date | undefined {
  const [, day, hour, minute, rest] = /\.(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3}Z)\.[0-9a-f]{8}$/.exec(name) ?? [];
  return day === undefined ? undefined : new Date(`${day}T${hour ?? ''}:${minute ?? ''}:${rest ?? ''}`);
}

/** Entries at the top of a folder, and the bytes of all files below it; nothing where there is none. One at a time, to leave the disk to others. */
async function sizeOf(path: string): Promise<RemovedSize> {
  let entries = 0;
  let bytes = 0;
  const folders = [path];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const opened = await opendir(folder).catch(unlessMissing);
    if (opened === undefined) continue;
    for await (const entry of opened) {
      if (folder === path) entries++;
      const below = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(below);
      else if (entry.isFile()) bytes += (await stat(below).catch(unlessMissing))?.size ?? 0;
    }
  }
  return { entries, bytes };
}

function unlessMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown;
}

/** One entry of `.removed/`. */
export interface RemovedEntry {
  readonly name: string;
  readonly removed: Date;
  readonly bytes: number;
  /** True where an activator that runs put it there: its endpoints may still read from it. */
  readonly inUse: boolean;
}

/** What lies in `.removed/`, the oldest first. @throws errors of the system. */
export async function listRemoved(dir: string): Promise<RemovedEntry[]> {
  const layout = shelfLayout(dir);
  return list(layout, await startOfOwner(layout));
}

/** Deletes entries of `.removed/` for good, but those that are in use. @returns the names of those that went. */
export async function deleteRemoved(dir: string, names: readonly string[]): Promise<string[]> {
  const layout = shelfLayout(dir);
  const free = (await list(layout, await startOfOwner(layout))).filter(({ inUse }) => !inUse);
  const gone = free.map(({ name }) => name).filter((name) => names.includes(name));
  for (const name of gone) await rm(join(layout.removed, name), { recursive: true, force: true });
  if (gone.length > 0) await syncFolder(layout.removed);
  return gone;
}

async function list({ removed }: ShelfLayout, ownedSince: Date | undefined): Promise<RemovedEntry[]> {
  const names = await readdir(removed).catch((thrown: unknown) => {
    if (!isMissing(thrown)) throw thrown;
    return [];
  });
  const entries: RemovedEntry[] = [];
  for (const name of names) {
    const path = join(removed, name);
    const found = await stat(path);
    const time = removedAt(name) ?? found.ctime;
    const bytes = found.isDirectory() ? (await sizeOf(path)).bytes : found.size;
    entries.push({ name, removed: time, bytes, inUse: ownedSince !== undefined && time >= ownedSince });
  }
  return entries.sort((a, b) => a.removed.getTime() - b.removed.getTime());
}

/** Since when an activator has the shelf; undefined where none does. Of one that did not say so, everything counts as in use. */
async function startOfOwner(layout: ShelfLayout): Promise<Date | undefined> {
  const isShelf = await access(layout.home).then(
    () => true,
    () => false,
  );
  if (!isShelf) return undefined;
  const note = readOwnerNote(layout);
  let owner: Owner;
  try {
    owner = takeOwnership(layout, undefined, () => undefined);
  } catch (thrown) {
    if (!(thrown instanceof ShelfInUse)) throw thrown;
    return new Date(note?.since ?? 0);
  }
  owner.release();
  return undefined;
}
