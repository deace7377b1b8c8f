import { join } from 'node:path';
import { parseKoId, type KoId } from '../../knowledge-object/id.ts';
import type { OwnedPlace } from './owner-lock.ts';

/** What the service itself keeps in a shelf folder. */
export const SHELF_HOME = '.kgrid';

/** Where things lie in a shelf folder. Everything but the exploded KOs of people is in `.kgrid` or `.removed`. */
export interface ShelfLayout extends OwnedPlace {
  readonly home: string;
  /** Packages on their way in, one folder each; emptied at start. */
  readonly staging: string;
  /** The files of packages, each once, by their sha256. */
  readonly objects: string;
  /** Of version 0.1: one pointer file a KO. */
  readonly index: string;
  /** Of version 0.1: one folder a KO, with a file for each package of it that was deleted or replaced and is kept. */
  readonly kept: string;
  /** Of version 0.1: there while the index is empty for a reason. */
  readonly emptyMark: string;
  /** Exploded KOs that were deleted or replaced, and packages that belong to no KO. */
  readonly removed: string;
}

export function shelfLayout(root: string): ShelfLayout {
  const home = join(root, SHELF_HOME);
  const [objects, index] = [join(home, 'objects'), join(home, 'index')];
  return {
    option: '--shelf',
    root,
    home,
    parts: [root, home, objects],
    ownerNote: join(home, 'owner.json'),
    staging: join(home, 'staging'),
    objects,
    index,
    kept: join(home, 'kept'),
    emptyMark: join(home, 'empty'),
    removed: join(root, '.removed'),
  };
}

/** A part of an id holds no `-`, so that a name stands for one id only. */
export const pointerName = (id: KoId): string => `${id.naan}-${id.name}-${id.version}.json`;

/** The folder in `kept/` of a KO. */
export const keptName = (id: KoId): string => pointerName(id).replace(/\.json$/, '');

/** The id that a pointer file, or a folder in `kept/`, of this name is for; undefined when it is none. */
export const idOfPointerName = (name: string): KoId | undefined =>
  parseKoId(name.replace(/\.json$/, '').replaceAll('-', '/'));

/** What lies in `objects/`, but what desktops leave there. */
export const isOfObjects = (name: string): boolean => !name.startsWith('.');

/** A new name in `staging/`; what lies there after a crash is removed at the next start. */
export const stagingName = (layout: ShelfLayout): string => join(layout.staging, crypto.randomUUID());
