import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { koKey } from '../../knowledge-object/id.ts';
import type { DurableFiles } from './durable-files.ts';
import { loadKept, type KeptPackages } from './kept-packages.ts';
import { findOrphans, moveOrphan } from './orphans.ts';
import type { RemovedFolder } from './removed-folder.ts';
import { recordName, type ShelfLayout } from './shelf-layout.ts';
import type { LoadedPackages } from './loaded-packages.ts';
import type { Warn } from './stored-packages.ts';

export interface UnreferencedParts {
  readonly layout: ShelfLayout;
  readonly disk: DurableFiles;
  readonly kept: KeptPackages;
  readonly removed: RemovedFolder;
  readonly warn: Warn;
}

/** For the owner of the shelf, before it serves: uploads that did not end go, and packages of no KO move to `.removed/`. */
export async function removeUnreferenced(
  parts: UnreferencedParts,
  { kos, unreadable }: Pick<LoadedPackages, 'kos' | 'unreadable'>,
): Promise<void> {
  const { layout } = parts;
  for (const name of await readdir(layout.staging)) await clear(parts, join(layout.staging, name));
  // An entry that cannot be read may refer to any folder, and a person may yet repair it.
  if (unreadable.size > 0) return;
  const kept = await removeKeptThatAreThere(parts, kos);
  const referred = new Set([...kos.values()].map(({ folder }) => folder));
  for (const folder of await findOrphans(layout, referred)) {
    const record = join(layout.objects, recordName(folder));
    if (!kept.has(folder)) await moveAway(parts, folder);
    // As a kill leaves it: it would count as that of a package on the shelf.
    else if (existsSync(record)) await clear(parts, record);
  }
}

/** What a kill left as kept while it is there. @returns the folders of what is kept. */
async function removeKeptThatAreThere(
  { layout, kept, warn }: UnreferencedParts,
  kos: LoadedPackages['kos'],
): Promise<Set<string | undefined>> {
  const all = loadKept(layout);
  for (const each of all) {
    if (kos.get(koKey(each.id))?.content.entry.digest !== each.digest) continue;
    await kept.drop(each).catch((thrown: unknown) => {
      warn('What says that a package is kept which is there could not be removed', thrown);
    });
  }
  return new Set(all.map(({ folder }) => folder));
}

async function clear({ disk, warn }: UnreferencedParts, path: string): Promise<void> {
  try {
    await disk.remove('leftover', path);
  } catch (thrown) {
    warn('A leftover of a change that did not end could not be removed', thrown);
  }
}

async function moveAway(parts: UnreferencedParts, folder: string): Promise<void> {
  const { warn } = parts;
  try {
    const { place, key } = await moveOrphan(parts, folder);
    const what = key === undefined ? '' : `, once of ${key},`;
    warn(`.kgrid/objects/${folder}${what} belongs to no knowledge object: it was moved to .removed/${place}`);
  } catch (thrown) {
    warn(`.kgrid/objects/${folder} belongs to no knowledge object, and cannot be moved to .removed`, thrown);
  }
}
