import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { exampleShelf } from './example-shelf.ts';

const EXAMPLES = join(import.meta.dirname, '../examples');
const NAME = 'hepatology-meld-3.0';
const temporary = await mkdtemp(join(tmpdir(), 'kgrid-examples-'));
after(() => rm(temporary, { recursive: true }));

const metadataIn = (folder: string): Promise<string> => readFile(join(folder, NAME, 'metadata.json'), 'utf8');

test('the examples are copied once, with every file', async () => {
  const place = join(temporary, 'data', 'once');
  const { folder, outdated } = await exampleShelf(place);
  assert.deepEqual([folder, outdated], [place, false]);
  const filesOf = async (root: string): Promise<string[]> => (await readdir(root, { recursive: true })).sort();
  assert.deepEqual(
    (await filesOf(place)).filter((path) => path !== '.copy-of'),
    await filesOf(EXAMPLES),
  );
  assert.equal(await metadataIn(place), await metadataIn(EXAMPLES));
});

test('what was done to the copy stays at the next start', async () => {
  const place = join(temporary, 'changed');
  await exampleShelf(place);
  await writeFile(join(place, NAME, 'metadata.json'), 'changed by a person');
  await rm(join(place, 'rcp-news2-v1.0'), { recursive: true });
  assert.deepEqual(await exampleShelf(place), { folder: place, outdated: false });
  assert.equal(await metadataIn(place), 'changed by a person');
  assert.ok(!(await readdir(place)).includes('rcp-news2-v1.0'));
});

test('a copy that was interrupted is completed', async () => {
  const place = join(temporary, 'interrupted');
  await exampleShelf(place);
  await rm(join(place, '.copy-of'));
  await rm(join(place, NAME, 'metadata.json'));
  assert.deepEqual(await exampleShelf(place), { folder: place, outdated: false });
  assert.equal(await metadataIn(place), await metadataIn(EXAMPLES));
});
