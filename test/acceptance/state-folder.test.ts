/** What an activator keeps for itself may lie elsewhere than the packages. */
import assert from 'node:assert/strict';
import { chmod, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { explode } from './support/folders.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { uniqueNaan, welcomeKo } from './support/ko.ts';
import { runToEnd, startService, temporaryFolder } from './support/service.ts';

test('a read-only shelf with a state folder keeps its audit there, over starts', async () => {
  await using folder = await temporaryFolder();
  await using home = await temporaryFolder();
  const ko = welcomeKo({ naan: uniqueNaan() });
  await explode(ko, folder.path, 'ko');
  const shelf = folder.path;
  const [state, args] = [join(home.path, 'state'), ['--read-only', '--state', join(home.path, 'state')]];
  await chmod(home.path, 0o777);
  await chmod(shelf, 0o555);
  try {
    for (const many of [1, 2]) {
      await using service = await startService({ shelf, args, unprivileged: true });
      assert.equal((await service.post(pathOf(ko, 'welcome'), { name: 'Ann' })).status, 200);
      assert.equal((await service.delete(`/kos/${ko.id}`)).status, 500);
      await service.get('/actuator/activation/reload');
      const { list } = await service.get('/actuator/audit');
      assert.equal(list.filter((each) => (each as { action: string }).action === 'reload').length, many);
      const refused = await runToEnd({ shelf: join(home.path, 'another'), args, unprivileged: true });
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /^--state: .* is in use by another activator \(process \d+, since .*\n$/);
    }
  } finally {
    await chmod(shelf, 0o755);
  }
  assert.deepEqual(await readdir(shelf), ['ko']);
  assert.ok((await readdir(state)).includes('shelf.db'));
});

test('a location of a kind that is not known, and a state folder in the shelf, stop the start and say why', async () => {
  await using folder = await temporaryFolder();
  const elsewhere = await runToEnd({ shelf: 's3://ann:s3cret@127.0.0.1/kgrid' });
  assert.equal(elsewhere.code, 1);
  assert.match(
    elsewhere.stderr,
    /^--shelf: a shelf at s3: cannot be opened: supported are a folder, such as [^\n]*\n$/,
  );
  assert.doesNotMatch(elsewhere.stderr + elsewhere.stdout, /s3cret/);
  const within = await runToEnd({ shelf: folder.path, args: ['--state', join(folder.path, 'state')] });
  assert.equal(within.code, 1);
  assert.match(
    within.stderr,
    /^--state: .* lies in the shelf .*: give a folder outside of it, or leave --state out\n$/,
  );
});
