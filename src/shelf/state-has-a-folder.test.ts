import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { put } from '../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../test/conformance/temporary-folder.ts';
import { openShelf } from './stores.ts';
import { openState, type StateFolder } from './state-folder.ts';

const onWarning = (message: string): void => assert.fail(message);
const open = (shelf: string, folder?: string): Promise<StateFolder> =>
  openState({ shelf, folder, address: 'http://127.0.0.1:9', onWarning });

test('without a setting the state lies with the shelf, and nothing of it is locked twice', async () => {
  await using dir = await temporaryFolder();
  await using shelf = await openShelf(dir.path);
  using state = await open(dir.path);
  assert.equal(state.audit, join(dir.path, '.kgrid/audit'));
  using same = await open(dir.path, join(dir.path, '.kgrid'));
  assert.deepEqual([same.spool, same.cache], [state.spool, state.cache]);
  await put(shelf, 'a/b/v1');
});

test('a state folder elsewhere is made, and packages and index stay on the shelf', async () => {
  await using dir = await temporaryFolder();
  const [root, home] = [join(dir.path, 'shelf'), join(dir.path, 'deep/state')];
  {
    await using shelf = await openShelf(root);
    using state = await open(root, home);
    await put(shelf, 'a/b/v1');
    assert.deepEqual(
      [state.audit, state.knownPackages, state.cache, state.spool],
      ['audit', 'known-packages', 'runtimes', 'spool'].map((name) => join(home, name)),
    );
    const names = (await readdir(home)).filter((name) => !name.endsWith('-journal')).sort();
    assert.deepEqual(names, ['owner.json', 'spool']);
  }
  assert.ok(existsSync(join(root, '.kgrid/shelf.db')));
  assert.ok((await readdir(join(root, '.kgrid/objects'))).length > 0);
});

test('two activators with two shelves and one state folder: the second is refused and told who the first is', async () => {
  await using dir = await temporaryFolder();
  const [one, two, home] = ['one', 'two', 'state'].map((name) => join(dir.path, name)) as [string, string, string];
  await using first = await openShelf(one);
  await using second = await openShelf(two);
  {
    using state = await open(one, home);
    assert.ok(existsSync(state.spool));
    await assert.rejects(open(two, home), {
      message: new RegExp(
        `^--state: ${home} is in use by another activator \\(process ${process.pid}, since .*, http://127\\.0\\.0\\.1:9\\); stop it or give this one a state folder of its own$`,
      ),
    });
    await symlink(home, join(dir.path, 'link'));
    await assert.rejects(open(two, join(dir.path, 'link')), /is in use by another activator/);
  }
  await assert.rejects(open(two, join(one, '.kgrid')), /is of another shelf/);
  using state = await open(two, home);
  assert.ok(existsSync(state.spool));
  assert.deepEqual([await first.list(), await second.list()], [[], []]);
});

test('what would mix packages and state, or cannot be written, is refused with the reason', async () => {
  await using dir = await temporaryFolder();
  const root = join(dir.path, 'shelf');
  await using shelf = await openShelf(root);
  await mkdir(join(dir.path, 'other/.kgrid'), { recursive: true });
  await writeFile(join(dir.path, 'file'), '');
  await symlink(root, join(dir.path, 'link'));
  const refusals = {
    [root]: /lies in the shelf/,
    [join(root, 'state')]: /lies in the shelf/,
    [join(root, '.kgrid/objects')]: /lies in the shelf/,
    [join(dir.path, 'link/state')]: /lies in the shelf/,
    [join(dir.path, 'other')]: /is a shelf itself/,
    [join(dir.path, 'file')]: /cannot be written: it is a file/,
    '/proc/kgrid-state': /cannot be written: ENOENT/,
    [join(dir.path, 'file/below')]: /cannot be written: it is a file, or lies below one/,
  };
  for (const [folder, message] of Object.entries(refusals))
    await assert.rejects(open(root, folder), { code: 'start-refused', message }, folder);
  assert.deepEqual(await readdir(root), ['.kgrid'], 'nothing was made in the shelf');
  const within = join(dir.path, 'home/audit');
  await using another = await openShelf(within);
  await assert.rejects(open(within, join(dir.path, 'home')), /the shelf .* lies in the folder audit of/);
  assert.deepEqual([await shelf.list(), await another.list()], [[], []]);
});
