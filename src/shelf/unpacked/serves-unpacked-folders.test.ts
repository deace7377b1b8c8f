import assert from 'node:assert/strict';
import { mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { koKey } from '../../knowledge-object/id.ts';
import {
  contentOn,
  failsWith,
  koId,
  metadataOf,
  open,
  put,
  type Files,
} from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import type { Shelf } from '../shelf.ts';
import { folderStamp, stampFolder } from './unpacked-folder.ts';
import { openStoredShelf } from '../store/open-stored-shelf.ts';

const ids = async (shelf: Shelf): Promise<string[]> => (await shelf.list()).map(({ id }) => koKey(id));

/** A KO as files of a folder on the shelf. */
const exploded = (folder: string, id: string, files: Files = { 'src/index.js': 'run' }): Files =>
  Object.fromEntries(
    Object.entries({ 'metadata.json': metadataOf(id), ...files }).map(([path, content]) => [
      `${folder}/${path}`,
      content,
    ]),
  );

test('folders with a metadata.json are served, up to three levels deep', async () => {
  await using dir = await temporaryFolder();
  await dir.add(exploded('my ko', 'a/b/v1/'));
  await dir.add(exploded('one/two/three', 'a/b/v2'));
  await dir.add(exploded('one/two/deep/er', 'a/b/v3'));
  await dir.add(exploded('.hidden', 'a/b/v4'));
  await dir.add(exploded('__MACOSX/x', 'a/b/v5'));
  await dir.add({ 'my ko/nested/metadata.json': metadataOf('a/b/v6'), 'my ko/.DS_Store': 'x', 'my ko/.git/HEAD': 'x' });
  await using shelf = await openStoredShelf(dir.path);
  assert.deepEqual(await ids(shelf), ['a/b/v1', 'a/b/v2']);
  assert.deepEqual(shelf.damage(), []);
  assert.deepEqual(await contentOn(shelf, 'a/b/v1'), {
    'metadata.json': metadataOf('a/b/v1/'),
    'nested/metadata.json': metadataOf('a/b/v6'),
    'src/index.js': 'run',
  });
  const opened = await open(shelf, 'a/b/v2');
  assert.equal((await buffer(await opened.stream('src/index.js', { start: 1, end: 2 }))).toString(), 'un');
  await assert.rejects(opened.read('nope'), failsWith('binary-not-found'));
});

test('what a person changes is seen by the next look and by whoever opens the package', async () => {
  await using dir = await temporaryFolder();
  await dir.add(exploded('x', 'a/b/v1'));
  await using shelf = await openStoredShelf(dir.path);
  const before = await shelf.find(koId('a/b/v1'));
  const held = await open(shelf, 'a/b/v1');

  await dir.add({ 'x/src/index.js': 'RUN', 'x/new.txt': 'new' });
  assert.equal((await held.read('src/index.js')).toString(), 'RUN');
  const changed = await open(shelf, 'a/b/v1');
  assert.notEqual(changed.entry.digest, before?.digest);
  assert.equal((await changed.read('new.txt')).toString(), 'new');
  assert.deepEqual(await shelf.find(koId('a/b/v1')), changed.entry);

  await dir.add(exploded('y', 'a/b/v2'));
  assert.deepEqual(await ids(shelf), ['a/b/v1']);
  await shelf.rescan();
  assert.deepEqual(await ids(shelf), ['a/b/v1', 'a/b/v2']);

  await dir.add({ 'x/metadata.json': metadataOf('a/b/v9') });
  assert.equal(await shelf.open(koId('a/b/v1')), undefined);
  assert.deepEqual(await ids(shelf), ['a/b/v2', 'a/b/v9']);

  await rm(join(dir.path, 'y'), { recursive: true });
  assert.equal(await shelf.open(koId('a/b/v2')), undefined);
  assert.deepEqual(await ids(shelf), ['a/b/v9']);
});

test('a look at one KO finds what is new, changed or gone of it, and does not read the others', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ ...exploded('x', 'a/b/v1'), ...exploded('other', 'a/c/v1') });
  // It looks again at what changed just now.
  while (folderStamp(await stampFolder(join(dir.path, 'other'))) === undefined) await turn();
  await using shelf = await openStoredShelf(dir.path);
  const digests = async () =>
    Promise.all(['a/b/v1', 'a/c/v1'].map(async (key) => (await shelf.find(koId(key)))?.digest));
  const before = await digests();
  await dir.add({ 'x/src/index.js': 'RUN', 'other/src/index.js': 'RUN', ...exploded('y', 'a/b/v2') });
  await shelf.rescan([{ naan: 'a', name: 'b' }]);
  const after = await digests();
  assert.notEqual(after[0], before[0]);
  assert.equal(after[1], before[1], 'waits for a look at all');
  assert.deepEqual(await ids(shelf), ['a/b/v1', 'a/b/v2', 'a/c/v1']);

  await rm(join(dir.path, 'x'), { recursive: true });
  await shelf.rescan([{ naan: 'a', name: 'b' }]);
  assert.deepEqual(await ids(shelf), ['a/b/v2', 'a/c/v1']);

  await dir.add({ 'other/metadata.json': metadataOf('a/d/v1') });
  await shelf.rescan([{ naan: 'a', name: 'd' }]);
  assert.deepEqual(await ids(shelf), ['a/b/v2', 'a/d/v1'], 'of what it does not know it looks everywhere');
  await shelf.rescan();
  assert.deepEqual(await ids(shelf), ['a/b/v2', 'a/d/v1']);
});

test('what cannot be served is named with its cause, and the rest serves', async () => {
  await using dir = await temporaryFolder();
  await dir.add(exploded('good', 'a/b/v1'));
  await dir.add({
    'half/metadata.json': '{"@id": "a/b/',
    'list/metadata.json': '[]',
    'no-id/metadata.json': '{"identifier": "ark:/a/b/v1"}',
    'sub/bad-id/metadata.json': '{"@id": "a/../v1"}',
    'own/metadata.json': '{"@id": "kos/b/v1"}',
    'sub/package.ZIP': 'PK',
    'good/inside.zip': 'PK',
  });
  await mkdir(join(dir.path, 'empty'));
  await using shelf = await openStoredShelf(dir.path);
  assert.deepEqual(await ids(shelf), ['a/b/v1']);
  const damage = new Map(shelf.damage().map(({ where, cause }) => [where, cause]));
  assert.deepEqual([...damage.keys()].sort(), ['half', 'list', 'no-id', 'own', 'sub/bad-id', 'sub/package.ZIP']);
  assert.match(damage.get('half') ?? '', /^metadata\.json is not valid JSON: line 1/);
  assert.match(damage.get('list') ?? '', /must hold a JSON object/);
  assert.match(damage.get('no-id') ?? '', /has no @id/);
  assert.match(damage.get('sub/bad-id') ?? '', /"a\/\.\.\/v1"; it must be "<naan>\/<name>\/<version>"/);
  assert.match(damage.get('own') ?? '', /naan "kos"/);
  assert.match(damage.get('sub/package.ZIP') ?? '', /import it with POST \/kos, or unpack it here/);
  await dir.add({ 'half/metadata.json': metadataOf('a/b/v2') });
  await shelf.rescan();
  assert.deepEqual(await ids(shelf), ['a/b/v1', 'a/b/v2']);
  assert.equal(shelf.damage().length, 5);
});

test('of two folders with one id the first serves, and an imported KO before any folder', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ ...exploded('b', 'a/b/v1', { from: 'b' }), ...exploded('a/x', 'a/b/v1', { from: 'a' }) });
  await using shelf = await openStoredShelf(dir.path);
  assert.equal((await contentOn(shelf, 'a/b/v1')).from, 'a');
  assert.deepEqual(shelf.damage(), [
    { where: 'b', cause: 'its "@id" a/b/v1 is that of the folder a/x; remove one of the two' },
  ]);
  await put(shelf, 'a/b/v1', { 'metadata.json': metadataOf('a/b/v1'), from: 'import' });
  assert.deepEqual(shelf.damage(), []);
  assert.equal((await readdir(join(dir.path, '.removed'))).length, 2);

  await dir.add(exploded('c', 'a/b/v1', { from: 'c' }));
  await shelf.rescan();
  assert.equal((await contentOn(shelf, 'a/b/v1')).from, 'import');
  assert.match(shelf.damage()[0]?.cause ?? '', /is that of a package that was imported/);
  await shelf.remove(koId('a/b/v1'));
  await shelf.rescan();
  assert.deepEqual(await ids(shelf), []);
});

test('links are not followed, neither as a KO nor as a file of one', async () => {
  await using dir = await temporaryFolder();
  await using outside = await temporaryFolder();
  await outside.add({ ...exploded('ko', 'a/b/v1'), secret: 'secret' });
  await dir.add(exploded('x', 'a/b/v2'));
  await symlink(join(outside.path, 'ko'), join(dir.path, 'linked'));
  await symlink(join(outside.path, 'secret'), join(dir.path, 'x/secret'));
  await symlink(outside.path, join(dir.path, 'x/folder'));
  await using shelf = await openStoredShelf(dir.path);
  assert.deepEqual(await ids(shelf), ['a/b/v2']);
  assert.deepEqual(
    shelf.damage().map(({ where }) => where),
    ['linked'],
  );
  const opened = await open(shelf, 'a/b/v2');
  assert.deepEqual([...opened.files.keys()], ['metadata.json', 'src/index.js']);
  await rm(join(dir.path, 'x/src/index.js'));
  await symlink(join(outside.path, 'secret'), join(dir.path, 'x/src/index.js'));
  await assert.rejects(opened.read('src/index.js'), failsWith('package-damaged'));
});

test('PUT of metadata with another id takes the folder in, so that the KO does not move', async () => {
  await using dir = await temporaryFolder();
  await dir.add(exploded('ko', 'a/b/v1'));
  const metadata = metadataOf('x/y/z');
  {
    await using shelf = await openStoredShelf(dir.path);
    const entry = await shelf.replaceMetadata(koId('a/b/v1'), metadata);
    assert.deepEqual(entry, await shelf.find(koId('a/b/v1')));
  }
  await using shelf = await openStoredShelf(dir.path);
  assert.deepEqual(await ids(shelf), ['a/b/v1']);
  assert.deepEqual(await contentOn(shelf, 'a/b/v1'), { 'metadata.json': metadata, 'src/index.js': 'run' });
  assert.deepEqual(await readdir(join(dir.path, '.kgrid/staging')), []);
});

test('a file that changed within a tick of the clock is read again, an older one is not', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ 'a.js': '0' });
  const fresh = await stampFolder(dir.path);
  assert.deepEqual(
    fresh.map((file) => file.fresh),
    [true],
  );
  assert.equal(folderStamp(fresh), undefined);
  const older = await stampFolder(import.meta.dirname);
  assert.match(folderStamp(older) ?? '', /^[0-9a-f]{64}$/);
});
