import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { folderOfShelf } from '../../src/shelf/open-shelf.ts';
import { ioFailure } from './exit.ts';
import { orShelfFailure } from './shelf-failure.ts';

/** The path of the folder of a shelf. @param part of it that must be there. @throws CommandFailure. */
export async function shelfAt(location: string, part = '.'): Promise<string> {
  const folder = await orShelfFailure(() => folderOfShelf(location));
  const found = await stat(join(folder, part)).catch(() => undefined);
  if (found?.isDirectory() === true) return realpath(folder);
  if (part === '.') throw ioFailure(`There is no folder ${folder}`);
  throw ioFailure(`${folder} is no shelf with imported knowledge objects: it has no ${part}`);
}
