import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { folderOfShelf } from '../shelf/stores.ts';
import { configOf } from '../../test/support/config/config-of.ts';

test('the shelf of the original may be absolute or lie beside the service', () => {
  const folders = {
    'filesystem:file:///data/shelf': '/data/shelf',
    'filesystem:file://localhost/data/shelf': '/data/shelf',
    'filesystem:file:/data/my%20shelf': '/data/my shelf',
    'file:///data/100%': '/data/100%',
    // What the original serves where nothing is configured.
    'filesystem:file://shelf': resolve('shelf'),
    'filesystem:shelf': resolve('shelf'),
    './shelf': resolve('shelf'),
  };
  for (const [written, folder] of Object.entries(folders)) {
    for (const variable of ['KGRID_SHELF_CDOSTORE_URL', 'KGRID_SHELF_LOCATION'])
      assert.equal(folderOfShelf(configOf([], { [variable]: written }).shelf ?? ''), folder, written);
  }
});

test('an option without content is refused, a variable without content is not there', () => {
  for (const option of ['--shelf', '--host', '--user']) {
    for (const argv of [[option, ''], [option, ' '], [`${option}=`], [option]]) {
      assert.throws(() => configOf(argv), { message: `Option ${option} needs a value` }, argv.join(' '));
    }
  }
  assert.equal(configOf([], { KGRID_HOST: '' }).host, '127.0.0.1');
});

test('a runtime that there is not is refused with those there are', () => {
  assert.throws(() => configOf(['--runtimes', 'ruby']), /'ruby', but must be any of node, python, or none alone/);
  assert.deepEqual(configOf(['--runtimes', 'none']).runtimes, []);
  assert.throws(() => configOf(['--allow-source-builds', 'a/b/v1']), /'a\/b\/v1', but must be the naan\/name of a/);
  assert.deepEqual(configOf([], { KGRID_ALLOW_SOURCE_BUILDS: 'a/b, c/d' }).sourceBuilds, ['a/b', 'c/d']);
  assert.deepEqual(configOf([], { KGRID_RUNTIMES: 'node, python' }).runtimes, ['node', 'python']);
});
