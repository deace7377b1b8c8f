/** What was read of a package stays in memory only where it could be another when it is read again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { javascriptKo } from '../../test/acceptance/support/ko.ts';
import { open, put } from '../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../test/conformance/temporary-folder.ts';
import { openStoredShelf } from '../shelf/store/open-stored-shelf.ts';
import { LoadedKo } from './loaded-ko.ts';

test('files that the shelf stores are read again, and those of an exploded folder are what they were', async () => {
  await using dir = await temporaryFolder();
  const files = (version: string, code: string) => javascriptKo(code, { naan: 'a', name: 'b', version }).files;
  const own = Object.entries(files('v1', 'before'));
  await dir.add(Object.fromEntries(own.map(([path, content]) => [`my ko/${path}`, String(content)])));
  await using shelf = await openStoredShelf(dir.path);
  await put(shelf, 'a/b/v2', files('v2', 'stored'));
  const load = async (id: string): Promise<LoadedKo> => LoadedKo.load(await open(shelf, id));

  const stored = await load('a/b/v2');
  const [first, beside] = [stored.artifact('src/index.js'), stored.artifact('src/index.js')];
  assert.equal(first, beside, 'those who ask at the same time share it');
  const again = stored.artifact('src/index.js');
  assert.deepEqual([await first, await again].map(String), ['stored', 'stored']);
  assert.notEqual(await stored.artifact('src/index.js'), await first);

  const exploded = await load('a/b/v1');
  assert.equal(String(await exploded.artifact('src/index.js')), 'before');
  await dir.add({ 'my ko/src/index.js': 'edited' });
  assert.equal(String(await exploded.artifact('src/index.js')), 'before');
  for (const ko of [stored, exploded]) ko.settle();
});
