/** What a person names on the command line: folders and archives with knowledge objects. */
import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import { type KoSource, openArchiveFile, openFolder } from '../../src/check/ko-source.ts';
import { METADATA_FILE } from '../../src/knowledge-object/metadata.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { findUnpacked } from '../../src/shelf/unpacked/unpacked-folder.ts';
import { ioFailure } from './exit.ts';
import type { Terminal } from './terminal.ts';

/** Opens all that is named; a folder without a `metadata.json` stands for the knowledge objects in it. */
export async function openSources(
  named: readonly string[],
  terminal: Terminal,
): Promise<readonly KoSource[] & AsyncDisposable> {
  const sources: KoSource[] = [];
  const opened = Object.assign(sources, {
    async [Symbol.asyncDispose]() {
      for (const source of sources) await source[Symbol.asyncDispose]();
    },
  });
  try {
    // What is named twice is opened once.
    const paths = new Map<string, string>();
    for (const path of named) {
      for (const each of await knowledgeObjectsAt(path, terminal)) paths.set(resolve(each), each);
    }
    for (const path of paths.values()) sources.push(await openSource(path));
    return opened;
  } catch (thrown) {
    await opened[Symbol.asyncDispose]();
    throw thrown;
  }
}

export async function openSource(path: string): Promise<KoSource> {
  return (await statOf(path)).isDirectory() ? openFolder(path) : openArchiveFile(path);
}

// The knowledge objects in a folder that is none itself, and what in it is left out.

/** The folder or zip itself, or the folders of knowledge objects below it; where there are none, the archives there. @throws CommandFailure. */
async function knowledgeObjectsAt(path: string, terminal: Terminal): Promise<string[]> {
  if (!(await statOf(path)).isDirectory()) return [path];
  const { folders, archives, damage } = await findUnpacked(path);
  if (damage.some(({ where }) => where === METADATA_FILE)) return [path];
  // A folder of archives stands for these; beside sources they may be what was packed of them.
  if (folders.length === 0 && archives.length > 0) return archives.map((where) => join(path, where));
  const leave = (where: string, why: string): void => terminal.note(`${join(path, where)} is left out: ${why}`);
  for (const where of archives) leave(where, 'name the archive itself');
  for (const { where, cause } of damage) leave(where, cause);
  for (const where of await tooDeep(path, folders)) leave(where, 'it is more than three levels deep, name it itself');
  return folders.length === 0 ? [path] : folders.map((folder) => join(path, folder));
}

/** Folders with a `metadata.json` that are neither found nor part of what is found. */
async function tooDeep(path: string, found: readonly string[]): Promise<string[]> {
  // What cannot be read is named as such.
  const all = await readdir(path, { recursive: true }).catch(() => []);
  const folders = all.filter((each) => posix.basename(each) === METADATA_FILE).map((each) => posix.dirname(each));
  const known = new Set(found);
  const parents = (folder: string): string[] => folder.split('/').map((_, i, parts) => parts.slice(0, i + 1).join('/'));
  const isHidden = (folder: string): boolean => /(^|\/)(\.|node_modules(\/|$))/.test(folder);
  return folders.filter((folder) => !isHidden(folder) && !parents(folder).some((each) => known.has(each))).sort();
}

async function statOf(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (thrown) {
    const missing = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
    throw ioFailure(missing ? `There is no file or folder ${path}` : messageOf(thrown), thrown);
  }
}
