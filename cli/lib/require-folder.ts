import { stat } from 'node:fs/promises';
import { storeAt } from '../../src/shelf/stores.ts';
import { ioFailure, orShelfFailure } from './exit.ts';

/** A shelf in a folder is made where there is none, and one that is to be read would be empty. @throws CommandFailure. */
export async function requireFolder(location: string): Promise<void> {
  const folder = await orShelfFailure(() => storeAt(location).folderAt(location));
  const found = folder === undefined ? undefined : await stat(folder).catch(() => undefined);
  if (folder !== undefined && found?.isDirectory() !== true) throw ioFailure(`There is no folder ${folder}`);
}
