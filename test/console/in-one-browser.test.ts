/** All tests of the console in one process, since the start of a browser costs more than most of them. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { loadedTogether } from '../support/loaded-together.ts';

const names = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.test.ts')).sort();
const files = names.map((name) => join(import.meta.dirname, name)).filter((file) => file !== import.meta.filename);
await loadedTogether('the console', async () => {
  for (const file of files) await import(file);
});
