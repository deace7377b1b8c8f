/** What a person names on the command line: folders and archives with knowledge objects. */
import { resolve } from 'node:path';
import { openArchiveFile, openFolder } from '../../src/check/ko-source.ts';
import type { KoSource } from '../../src/check/ko-source.ts';
import { knowledgeObjectsAt, statOf } from './folder-of-sources.ts';
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
