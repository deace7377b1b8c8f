/** What version 0.1 had on the shelf: a pointer file for each KO in `.kgrid/index`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { koKey } from '../../../knowledge-object/id.ts';
import { isMissing, reasonOf } from '../../disk-errors.ts';
import { idOfPointerName, type ShelfLayout } from '../shelf-layout.ts';
import { parsePointer, type Pointer } from './pointer.ts';

export interface LoadedIndex {
  readonly kos: readonly Pointer[];
  readonly unreadable: readonly { readonly where: string; readonly cause: string }[];
}

export function loadIndex({ index }: Pick<ShelfLayout, 'index'>): LoadedIndex {
  const [kos, unreadable]: [Pointer[], { where: string; cause: string }[]] = [[], []];
  for (const name of pointerNames(index)) {
    const id = idOfPointerName(name);
    const where = id === undefined ? name : koKey(id);
    try {
      const pointer = parsePointer(readFileSync(join(index, name), 'utf8'));
      if (koKey(pointer.content.entry.id) !== where) throw new Error('it has the name of another knowledge object');
      kos.push(pointer);
    } catch (thrown) {
      unreadable.push({ where, cause: `its entry .kgrid/index/${name} cannot be read: ${reasonOf(thrown)}` });
    }
  }
  return { kos, unreadable };
}

export function pointerNames(index: string): string[] {
  try {
    return readdirSync(index).filter((name) => name.endsWith('.json'));
  } catch (thrown) {
    if (isMissing(thrown)) return [];
    throw thrown;
  }
}
