/** The knowledge objects whose files a document shows in blocks with `file=<folder>/<path>`. */
import { blocksOf, wordOf } from './markdown.ts';
import type { Files } from './mistakes.ts';

/** The files of each, by the name of its folder. */
export function shownKos(markdown: string): Map<string, Files> {
  const kos = new Map<string, Record<string, string>>();
  for (const block of blocksOf(markdown)) {
    const [, folder = '', path = ''] = /^([^/]+)\/(.+)$/.exec(wordOf(block, 'file') ?? '') ?? [];
    if (folder === '') continue;
    const files = kos.get(folder) ?? {};
    kos.set(folder, { ...files, [path]: block.text });
  }
  return kos;
}
