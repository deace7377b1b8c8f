/** Files of a package that its schemas refer to. */
import { readReference } from '../execution/validation/references.ts';
import { isObject } from '../lib/fields.ts';
import type { Fields } from '../lib/fields.ts';
import { readPlaced } from './yaml-place.ts';

/** By path in the package. */
export type SchemaFiles = ReadonlyMap<string, Fields>;

const MOST_FILES = 50;

/** All to which a document leads. `textOf` gives undefined for what is not there. */
export async function readSchemaFiles(
  document: Fields,
  file: string,
  textOf: (path: string) => Promise<string | undefined>,
): Promise<SchemaFiles> {
  const files = new Map<string, Fields>([[file, document]]);
  const left = [file];
  for (let next = left.pop(); next !== undefined; next = left.pop())
    for (const path of filesOf(files.get(next), next)) {
      if (files.has(path) || files.size > MOST_FILES) continue;
      const text = await textOf(path);
      const value = text === undefined ? undefined : readPlaced(text, path)?.value;
      if (!isObject(value)) continue;
      files.set(path, value);
      left.push(path);
    }
  return files;
}

function* filesOf(value: unknown, from: string): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, each] of Object.entries(value)) {
    const reference = key === '$ref' && typeof each === 'string' ? readReference(each, from) : undefined;
    if (reference === undefined) yield* filesOf(each, from);
    else if (reference.file !== from) yield reference.file;
  }
}
