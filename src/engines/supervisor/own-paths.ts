import { dirname, isAbsolute, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { EndpointCode } from './adapter.ts';

/**
 * What code said, for people who may not know where it lies on this machine: its paths become those of the knowledge object.
 * @param scratch in which workers have theirs, in the folder of what is fetched and installed.
 */
export function withoutOwnPaths(text: string, codes: readonly EndpointCode[], scratch: string): string {
  if (!text.includes('/')) return text;
  let clean = text;
  const strip = (folder: string): void => {
    if (!isAbsolute(folder)) return;
    for (const form of [`${pathToFileURL(folder).href}/`, `file://${folder}/`, `${folder}/`])
      clean = clean.replaceAll(form, '');
  };
  for (const code of codes) {
    for (const folder of [code.root, ...code.folders]) strip(folder);
    clean = clean.replaceAll(code.file, relative(code.root, code.file));
  }
  strip(dirname(scratch));
  return clean;
}
