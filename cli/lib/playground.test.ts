import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { edit, fromTemplate, temporaryFolder } from '../../test/cli/kgrid.ts';
import { findPlayed } from './played-folders.ts';
import { Playground } from './playground.ts';
import type { Changes } from './playground.ts';

const told = ({ changed, gone, complete }: Changes): unknown => ({
  changed: changed.map(({ inspection }) => inspection.ko?.key),
  gone,
  complete,
});

test('an id that is saved between the listing and the reading is told when its files are served, not before', async () => {
  await using folder = await temporaryFolder();
  const root = join(folder.path, 'mine');
  const shelf = join(folder.path, 'shelf');
  await mkdir(shelf);
  const ko = await fromTemplate('resource', root, 'map');
  const playground = new Playground();
  await playground.update(shelf, (await findPlayed(root)).sources);

  await edit(join(ko, 'service.yaml'), '/test/map', '/test/mean');
  const { sources } = await findPlayed(root);
  await edit(join(ko, 'metadata.json'), /test\/map/g, 'test/mean');
  assert.deepEqual(told(await playground.update(shelf, sources)), { changed: [], gone: [], complete: false });

  const next = await playground.update(shelf, (await findPlayed(root)).sources);
  assert.deepEqual(told(next), { changed: ['test/mean/v1.0'], gone: ['test/map/v1.0'], complete: true });
  assert.match(await readFile(join(shelf, 'ko-0/metadata.json'), 'utf8'), /"@id": "test\/mean\/v1\.0"/);
});
