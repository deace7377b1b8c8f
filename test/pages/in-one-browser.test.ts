/** All tests of the pages and of the console in one process, since the start of a browser and of a service cost more than most of them. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { loadedTogether } from '../support/loaded-together.ts';

const folders = [import.meta.dirname, join(import.meta.dirname, '../console')];
await loadedTogether('the pages and the console', async () => {
  for (const folder of folders)
    for (const name of (await readdir(folder)).sort()) {
      const file = join(folder, name);
      if (name.endsWith('.test.ts') && file !== import.meta.filename) await import(file);
    }
});
