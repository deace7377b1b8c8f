import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { koKey } from '../../knowledge-object/id.ts';
import { isMissing, isTransient, reasonOf } from '../disk-errors.ts';
import { artifactsOf, keyOf } from './package-content.ts';
import { parsePointer, type Pointer } from './pointer.ts';
import { idOfPointerName, type ShelfLayout } from './shelf-layout.ts';

/** A KO that was imported. */
export interface StoredKo extends Pointer {
  /** Why its package cannot be opened, for the operator. */
  damage?: string | undefined;
}

/** Why an entry cannot be read. */
export interface Unreadable {
  readonly cause: string;
  /** True where it may be readable a little later. */
  readonly transient: boolean;
}

export interface LoadedIndex {
  /** By `koKey`. */
  readonly kos: Map<string, StoredKo>;
  /** By what the pointer file is for: `koKey`, or the name of the file. */
  readonly unreadable: Map<string, Unreadable>;
}

/**
 * Reads all pointer files, or those for what `isAsked` tells by its key. A damaged one never stops the start: it is reported and the rest serve.
 *
 * Synchronous, since nothing else runs yet: 1,000 pointers take 12 ms so, and 60 ms with promises.
 */
export function loadIndex(layout: ShelfLayout, isAsked: (where: string) => boolean = () => true): LoadedIndex {
  const kos = new Map<string, StoredKo>();
  const unreadable = new Map<string, Unreadable>();
  for (const name of pointerNames(layout)) {
    if (!isAsked(whereOf(name))) continue;
    const found = loadEntry(layout, name);
    if ('cause' in found) unreadable.set(whereOf(name), found);
    else kos.set(whereOf(name), found);
  }
  return { kos, unreadable };
}

/** Reads one pointer file. */
export function loadEntry(layout: ShelfLayout, name: string): StoredKo | Unreadable {
  try {
    const pointer = parsePointer(readFileSync(join(layout.index, name), 'utf8'));
    if (keyOf(pointer.content) !== whereOf(name)) throw new Error('it has the name of another knowledge object');
    return { ...pointer, damage: missingFile(layout, pointer) };
  } catch (thrown) {
    const transient = isTransient(thrown);
    const remedy = transient ? 'it is tried again' : 'import it again';
    return { cause: `its entry .kgrid/index/${name} cannot be read: ${reasonOf(thrown)}; ${remedy}`, transient };
  }
}

/** What the pointer file of this name is for. */
function whereOf(name: string): string {
  const id = idOfPointerName(name);
  return id === undefined ? name : koKey(id);
}

/** Names of the pointer files; none where there is no index. */
export function pointerNames({ index }: Pick<ShelfLayout, 'index'>): string[] {
  try {
    return readdirSync(index).filter((name) => name.endsWith('.json'));
  } catch (thrown) {
    // A folder that never was this activator's to write has only what people put there.
    if (isMissing(thrown)) return [];
    throw thrown;
  }
}

/** Says which file of a package is missing or has another size; undefined when none. Does not read them. */
function missingFile(layout: ShelfLayout, { content, folder }: Pointer): string | undefined {
  for (const { path, size } of artifactsOf(content)) {
    const found = lstatSync(join(layout.objects, folder, path), { throwIfNoEntry: false });
    if (!found?.isFile()) return `its file ${path} is missing; import it again`;
    if (found.size !== size) return `its file ${path} is not what was stored; import it again`;
  }
  return undefined;
}
