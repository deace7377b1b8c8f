import { isAbsolute, relative } from 'node:path';
import type { EndpointCode } from './worker-program.ts';

/** What code said, for people who may not know where it lies on this machine: its paths become those of the knowledge object. */
export function withoutOwnPaths(text: string, codes: readonly EndpointCode[]): string {
  if (!text.includes('/')) return text;
  let clean = text;
  for (const code of codes) {
    const folders = [code.root, ...code.folders].filter(isAbsolute);
    for (const folder of folders) clean = clean.replaceAll(`file://${folder}/`, '').replaceAll(`${folder}/`, '');
    clean = clean.replaceAll(code.file, relative(code.root, code.file));
  }
  return clean;
}
