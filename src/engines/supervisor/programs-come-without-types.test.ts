import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { programText } from './program-text.ts';

const folder = await mkdtemp(join(tmpdir(), 'kgrid-program-'));
after(() => rm(folder, { recursive: true }));

const main = join(folder, 'main.ts');
await writeFile(
  main,
  `import type { Shape } from './types-only.ts';
import { readFileSync } from 'node:fs';
import {
  half,
} from './half.ts';
export const run = (n: number): Shape => half(n);
`,
);
await writeFile(join(folder, 'half.ts'), `export const half = (n: number): number => n / 2; // of 'main.ts'\n`);
const url = pathToFileURL(main).href;
const modulesOf = (text: string): [string, string][] => JSON.parse(text) as [string, string][];

test('a program is its main module and what that imports, as JavaScript whose lines are where they were', () => {
  const modules = modulesOf(programText(url, undefined));
  assert.deepEqual(
    modules.map(([each]) => each),
    [url, new URL('half.ts', url).href],
  );
  assert.equal(modules[0]?.[1].split('\n')[5]?.replaceAll(/ +/g, ' '), 'export const run = (n ) => half(n);');
});

test('it is kept for the next start, for its user alone, and made anew where its sources or what was kept changed', async () => {
  const kept = await mkdtemp(join(folder, 'kept-'));
  const text = programText(url, kept);
  const [name = '', ...others] = await readdir(kept);
  assert.deepEqual(others, []);
  assert.equal((await stat(join(kept, name))).mode & 0o777, 0o600);

  const marked = text.replace('half(n)', 'half(n) /* kept */');
  await writeFile(join(kept, name), marked);
  assert.equal(programText(url, kept), marked);

  await writeFile(join(kept, name), text.slice(0, -10));
  assert.equal(programText(url, kept), text);
  assert.equal(await readFile(join(kept, name), 'utf8'), text);

  await writeFile(join(folder, 'half.ts'), `export const half = (n: number): number => n / 2 + 1;\n`);
  assert.match(programText(url, kept), /n \/ 2 \+ 1/);
  assert.equal((await readdir(kept)).length, 2);
});

test('where nothing can be kept it is made each time', () => {
  assert.equal(programText(url, join(folder, 'no/such/folder')), programText(url, undefined));
});
