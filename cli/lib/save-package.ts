/** Writes a package that was fetched to where a person wants it; nothing that is there is lost unasked. */
import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, readdir, realpath, rm } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { messageOf } from '../../src/lib/errors.ts';
import { ioFailure, usageFailure } from './exit.ts';
import type { KoSource } from '../../src/check/ko-source.ts';
import { listPackageFiles } from '../../src/check/package-files.ts';

/** @throws CommandFailure where a file is there already, unless `force`. */
export async function saveZip(zip: string, target: string, force: boolean): Promise<string[]> {
  try {
    await mkdir(dirname(target), { recursive: true });
    await copyFile(zip, target, force ? 0 : constants.COPYFILE_EXCL);
    return [];
  } catch (thrown) {
    throw cannotWrite(target, thrown);
  }
}

/**
 * Gives what was there and is no part of the package.
 * @throws CommandFailure where the folder is there and not empty, unless `force`.
 */
export async function saveFolder({ folder, files }: KoSource, target: string, force: boolean): Promise<string[]> {
  try {
    await mkdir(target, { recursive: true });
    if (!force && (await readdir(target)).length > 0) throw isThere(target);
    const root = await realpath(target);
    for (const path of files.keys()) {
      const file = join(root, path);
      // A link in the folder of the person must not lead what an activator sent to elsewhere.
      const parent = await existing(dirname(file));
      if (parent !== root && !parent.startsWith(root + sep))
        throw usageFailure(`${join(target, dirname(path))} is a link that leads out of ${target}: take it away first`);
      await mkdir(dirname(file), { recursive: true });
      if (force && (await lstat(file).catch(() => undefined))?.isDirectory() === false) await rm(file);
      await copyFile(join(folder, path), file, constants.COPYFILE_EXCL);
    }
    const { files: all } = await listPackageFiles(root);
    return [...all.keys()].filter((path) => !files.has(path));
  } catch (thrown) {
    throw cannotWrite(target, thrown);
  }
}

/** Where the nearest folder that is there really lies. */
async function existing(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
    return existing(dirname(folder));
  }
}

const isThere = (target: string): Error =>
  usageFailure(`${target} is there already: choose another place with --output, or say --force to write over it`);

function cannotWrite(target: string, thrown: unknown): unknown {
  const { code, syscall } = thrown as NodeJS.ErrnoException;
  if (syscall === undefined) return thrown;
  return code === 'EEXIST' || code === 'ENOTDIR'
    ? isThere(target)
    : ioFailure(`${target} cannot be written: ${messageOf(thrown)}`, thrown);
}
