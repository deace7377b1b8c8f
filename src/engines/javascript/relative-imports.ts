/** Which file of a package a relative import means; nothing outside of the package is ever asked for. */
import { posix } from 'node:path';

/** What can be imported. */
export const CODE = /\.(?:[cm]?[jt]s|json)$/i;
export const TYPESCRIPT = /\.[cm]?ts$/i;
export const JSON_FILE = /\.json$/i;

export const isRelative = (wanted: string): boolean => /^(?:\.{0,2}\/|\.{1,2}$)/.test(wanted);

/** From the root of the package; undefined where the import leads out of it. */
export function pathOf(wanted: string, from: string): string | undefined {
  const joined = wanted.startsWith('/') ? posix.join('.', wanted) : posix.join(posix.dirname(from), wanted);
  if (joined === '..' || joined.startsWith('../')) return undefined;
  const path = joined.replace(/^\/|\/$/g, '');
  return path === '.' ? '' : path;
}

/** The first of these that is there is meant by a path: with or without its extension, or named as what it compiles to. */
export function candidatesFor(path: string): string[] {
  if (path === '') return ['index.js', 'index.ts'];
  const endings = ['', '.js', '.mjs', '.json', '/index.js', '.cjs', '.ts', '.mts', '/index.ts'];
  return [...endings.map((ending) => path + ending), path.replace(/\.([cm]?)js$/i, '.$1ts')];
}

/** Files that a code file may import or require: all relative paths that it holds as texts, wherever they stand. */
export function pathsIn(text: string, most: number): string[] {
  const found = new Set<string>();
  for (const [, , path = ''] of text.matchAll(QUOTED_PATH)) if (found.add(path).size === most) break;
  return [...found];
}

const QUOTED_PATH = /(['"`])((?:\.{1,2})?\/[^'"`\\\n]{0,1024}|\.{1,2})\1/g;
