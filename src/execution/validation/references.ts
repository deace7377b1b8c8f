/** What a `$ref` of a file in a package means. */
import { posix } from 'node:path';
import { pointerKey } from '../../knowledge-object/descriptors/service.ts';

/** A file of the package, and the keys or the name of an anchor in it. */
export type Reference =
  | { readonly file: string; readonly pointer: readonly string[] }
  | { readonly file: string; readonly anchor: string };

/** Undefined for what leads out of the package: that is never fetched. */
export function readReference(text: string, from: string): Reference | undefined {
  const [address = '', fragment = ''] = splitOnce(text, '#');
  const file = fileOf(address, from);
  if (file === undefined) return undefined;
  if (fragment === '') return { file, pointer: [] };
  if (fragment.startsWith('/')) return { file, pointer: fragment.slice(1).split('/').map(pointerKey) };
  return { file, anchor: fragment };
}

function fileOf(address: string, from: string): string | undefined {
  if (address === '') return from;
  if (SCHEME.test(address) || address.startsWith('/') || address.includes('\\')) return undefined;
  const path = posix.normalize(posix.join(posix.dirname(from), decoded(splitOnce(address, '?')[0] ?? '')));
  return path.startsWith('..') || path.includes('\0') ? undefined : path;
}

/** Of a URL. */
const SCHEME = /^[a-z][\w+.-]*:/i;

function splitOnce(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
