/** All tests of the pages in one process, since the start of a browser and of a service cost more than most of them. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { loadedTogether } from '../support/loaded-together.ts';

await loadedTogether('the pages', async () => {
  for (const name of (await readdir(import.meta.dirname)).sort()) {
    const file = join(import.meta.dirname, name);
    if (name.endsWith('.test.ts') && file !== import.meta.filename) await import(file);
  }
});
