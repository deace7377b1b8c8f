import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The id of the node that has a folder for itself: the same at each start, so that it takes the place of what was there
 * before, and of nobody else. Without the file it is another node, and the old one is missed for some seconds.
 */
export async function nodeIdIn(folder: string): Promise<string> {
  const file = join(folder, 'node-id');
  const known = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (UUID.test(known)) return known;
  const id = crypto.randomUUID();
  await writeFile(file, `${id}\n`).catch(() => undefined);
  return id;
}
