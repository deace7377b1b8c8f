import { mkdir, open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf, isFull } from '../disk-errors.ts';

/** Called with the name of each durable step before it is taken. What it throws fails the step. */
export type OnStep = (step: string) => void | Promise<void>;

/**
 * The changes that a store makes to the disk, each announced by name, so that a test can end the process or
 * let the disk fail exactly there.
 */
export class DurableFiles {
  readonly step: OnStep;
  readonly #syncs: boolean;

  /** `syncs`: false where what a crash takes is nobody's loss. */
  constructor(onStep: OnStep = () => undefined, { syncs = true }: { readonly syncs?: boolean } = {}) {
    this.step = onStep;
    this.#syncs = syncs;
  }

  async createFolder(what: string, path: string): Promise<void> {
    await this.step(`create ${what}`);
    await makeFolder(path);
  }

  /** Makes a new file, which is on the disk when this returns. @returns what `fill` returned. */
  async createFile<T>(what: string, path: string, fill: (file: FileHandle) => Promise<T>): Promise<T> {
    await this.step(`write ${what}`);
    await using file = await open(path, 'wx');
    const filled = await fill(file);
    if (!this.#syncs) return filled;
    await this.step(`sync ${what}`);
    await file.sync();
    return filled;
  }

  /**
   * Gives a file a new text in one step, or removes it where there is none; durable when this returns. When it
   * fails, the text is `before`.
   * @param temporary a name for the new file on the same disk.
   */
  async replaceFile(what: string, target: string, temporary: string, text?: string, before?: string): Promise<void> {
    await this.#putInPlace(what, target, temporary, text);
    try {
      await this.syncFolder(`folder of ${what}`, dirname(target));
    } catch (thrown) {
      await this.#putInPlace(what, target, temporary, before).catch(() => undefined);
      throw thrown;
    }
  }

  /** Durable once the folder of `to` is synced. */
  async move(what: string, from: string, to: string): Promise<void> {
    await this.step(`move ${what}`);
    await rename(from, to);
  }

  async remove(what: string, path: string): Promise<void> {
    await this.step(`remove ${what}`);
    await rm(path, { recursive: true, force: true });
  }

  async syncFolder(what: string, path: string): Promise<void> {
    if (!this.#syncs) return;
    await this.step(`sync ${what}`);
    await syncFolder(path);
  }

  async #putInPlace(what: string, target: string, temporary: string, text: string | undefined): Promise<void> {
    if (text === undefined) return this.remove(what, target);
    try {
      await this.createFile(what, temporary, (file) => file.writeFile(text));
      await this.move(what, temporary, target);
    } catch (thrown) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw thrown;
    }
  }
}

/**
 * Makes a folder and those above it, one by one: for all at once, Node hides why not, and tries for ever where a file
 * system such as `/proc` says that what is there is not. @returns the first that was made. @throws an error of the system.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  try {
    await mkdir(path);
    return path;
  } catch (thrown) {
    if (errnoOf(thrown) === 'EEXIST' && (await stat(path)).isDirectory()) return undefined;
    if (errnoOf(thrown) !== 'ENOENT' || dirname(path) === path) throw thrown;
    const made = await makeFolder(dirname(path));
    await mkdir(path).catch((again: unknown) => {
      if (errnoOf(again) !== 'EEXIST') throw again;
    });
    return made ?? path;
  }
}

/** Makes durable which files a folder has. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

/** @throws an error of the system where nothing can be written into a folder, whatever its permissions say. */
export async function tryToWrite(folder: string): Promise<void> {
  const probe = join(folder, `probe-${crypto.randomUUID()}`);
  try {
    await (await open(probe, 'wx')).close();
  } catch (thrown) {
    // A full disk can be written again one day; until then it serves.
    if (!isFull(thrown)) throw thrown;
  }
  await rm(probe, { force: true });
}
