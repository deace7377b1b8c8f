/** Knowledge objects as folders that a person put on a shelf. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Ko } from './ko.ts';

/** Writes the files of the KO below `<shelf>/<folder>`. */
export async function explode(ko: Ko, shelf: string, folder: string): Promise<void> {
  for (const [path, content] of Object.entries(ko.files)) {
    const place = join(shelf, folder, path);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, content);
  }
}
