/** All tests of the pages in one process, since the start of a browser and of a service cost more than most of them. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const files = (await readdir(import.meta.dirname)).map((name) => join(import.meta.dirname, name));
for (const file of files.sort()) if (file.endsWith('.test.ts') && file !== import.meta.filename) await import(file);
