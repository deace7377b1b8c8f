/** What version 0.1 kept of what was deleted or replaced: a file for each package, which says what its pointer did. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { KoId } from '../../../knowledge-object/id.ts';
import { isMissing } from '../../disk-errors.ts';
import { idOfKept, parseKeptName, type KeptPackage } from './kept-name.ts';
import { keptName, type ShelfLayout } from '../shelf-layout.ts';

/** All that is kept on a shelf. Synchronous, since nothing else runs yet. */
export function loadKept({ kept }: Pick<ShelfLayout, 'kept'>): KeptPackage[] {
  return idsIn(namesIn(kept)).flatMap((id) => inOrder(id, namesIn(join(kept, keptName(id)))));
}

const idsIn = (names: readonly string[]): KoId[] =>
  names.flatMap((name) => {
    const id = idOfKept(name);
    return id === undefined ? [] : [id];
  });

/** Their names begin with the time. */
const inOrder = (id: KoId, names: readonly string[]): KeptPackage[] =>
  names
    .toSorted()
    .reverse()
    .flatMap((name) => parseKeptName(id, name) ?? []);

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (thrown) {
    return noneWhereMissing(thrown);
  }
}

function noneWhereMissing(thrown: unknown): string[] {
  if (isMissing(thrown)) return [];
  throw thrown;
}
