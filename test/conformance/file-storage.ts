import { openShelf } from '../../src/shelf/stores.ts';
import { packagesIn } from '../support/stored-packages.ts';
import type { ShelfStorage } from './shelf.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A folder for the file store. */
export async function fileStorage(): Promise<ShelfStorage & { readonly path: string }> {
  const folder = await temporaryFolder();
  return {
    path: folder.path,
    open: ({ keep, now } = {}) => openShelf(folder.path, { keepRemoved: keep, now }),
    packages: () => Promise.resolve(packagesIn(folder.path).length),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}
