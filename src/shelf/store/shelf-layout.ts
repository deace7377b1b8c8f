import { join } from 'node:path';
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
  /** Exploded KOs that were deleted or replaced, and packages that belong to no KO. */
  readonly removed: string;
}

export function shelfLayout(root: string): ShelfLayout {
  const home = join(root, SHELF_HOME);
  const objects = join(home, 'objects');
  return {
    option: '--shelf',
    root,
    home,
    parts: [root, home, objects],
    ownerNote: join(home, 'owner.json'),
    staging: join(home, 'staging'),
    objects,
    removed: join(root, '.removed'),
  };
}

/** A new name in `staging/`; what lies there after a crash is removed at the next start. */
export const stagingName = (layout: ShelfLayout): string => join(layout.staging, crypto.randomUUID());
