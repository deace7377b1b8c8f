import assert from 'node:assert/strict';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startService, runToEnd } from '../acceptance/support/service.ts';
import { welcomeKo, zipOf } from '../acceptance/support/ko.ts';
import { listingOf, objectOf, objectsIn } from '../support/stored-packages.ts';
import { kgrid, kgridJson, temporaryFolder } from './kgrid.ts';

const kos = ['one', 'two', 'three'].map((name) => welcomeKo({ naan: 'a', name }));

/** A shelf folder with three imported KOs. */
async function filledShelf(shelf: string): Promise<void> {
  await using service = await startService({ shelf });
  for (const ko of kos) assert.equal((await service.importZip(await zipOf(ko.files))).status, 200);
}

test('a start without the database names the command that makes it again, and with that everything serves again', async () => {
  await using folder = await temporaryFolder();
  await filledShelf(folder.path);
  const stored = objectsIn(folder.path);
  for (const part of ['', '-wal', '-shm']) rmSync(join(folder.path, `.kgrid/shelf.db${part}`), { force: true });
  const refused = await runToEnd({ shelf: folder.path });
  assert.equal(refused.code, 1);
  const [, command = ''] = /has 3 packages in .*make it again with: kgrid (.*)\n$/.exec(refused.stderr) ?? [];
  assert.deepEqual(command.split(' '), ['shelf', 'check', '--fix', folder.path]);
  const checked = await kgrid(['shelf', 'check', folder.path]);
  assert.deepEqual(
    [checked.code, checked.stdout],
    [
      1,
      'damaged  .kgrid/shelf.db is missing: stop the activator, and add --fix to make it again\n0 packages whole, 0 damaged\n',
    ],
  );

  const fixed = await kgrid(command.split(' '));
  assert.deepEqual(
    [fixed.code, fixed.stderr, fixed.stdout.split('\n')],
    [0, '', [...kos.map(({ id }) => `rebuilt  ${id}`).sort(), '3 packages whole, 0 damaged', '']],
  );
  assert.deepEqual(objectsIn(folder.path), stored);
  await using service = await startService({ shelf: folder.path });
  for (const ko of kos) {
    assert.equal((await service.post(`/${ko.naan}/${ko.name}/1.0/welcome`, { name: 'Ann' })).status, 200);
  }
  const inUse = await kgrid(['shelf', 'check', '--fix', folder.path]);
  assert.equal(inUse.code, 3);
  assert.match(inUse.stderr, /is in use by another activator \(process \d+, .*\)\n$/);
  rmSync(objectOf(folder.path, 'a/one/v1.0', 'src/index.js'));
  const damaged = await kgridJson<{ damaged: { where: string }[] }>(['shelf', 'check', folder.path]);
  assert.equal(damaged.code, 1);
  // Their code is the same, and stored once.
  assert.deepEqual(
    damaged.json.damaged.map(({ where }) => where),
    kos.map(({ id }) => id).sort(),
  );
});

interface Cleaned {
  readonly deleted: string[];
  readonly stays: string[];
}

test('what was put aside goes by clean --yes alone, says what goes, and may be chosen by age', async () => {
  await using folder = await temporaryFolder();
  const old = 'ko.2020-01-01T00-00-00.000Z.01234567';
  const young = `ko.${new Date().toISOString().replaceAll(':', '-')}.01234567`;
  for (const name of [old, young]) {
    await mkdir(join(folder.path, '.removed', name), { recursive: true });
    writeFileSync(join(folder.path, '.removed', name, 'metadata.json'), '{}');
  }
  const asked = await kgrid(['shelf', 'clean', folder.path, '--older-than', '30d']);
  assert.deepEqual(
    [asked.code, asked.stdout],
    [2, `would go  .removed/${old}, 2 bytes\nNothing was deleted: add --yes to delete 1 of 2 in .removed, 2 bytes\n`],
  );
  assert.equal(readdirSync(join(folder.path, '.removed')).length, 2);
  const first = await kgridJson<Cleaned>(['shelf', 'clean', folder.path, '--older-than', '30d', '--yes']);
  assert.deepEqual([first.code, first.json.deleted, first.json.stays], [0, [old], [young]]);
  const all = await kgrid(['shelf', 'clean', folder.path, '--yes']);
  assert.deepEqual(
    [all.code, all.stdout],
    [0, `deleted  .removed/${young}, 2 bytes\nDeleted 1 of 1 in .removed, 2 bytes\n`],
  );
  assert.deepEqual(listingOf(folder.path, '.removed'), []);
});

test('under an activator only that goes which lay there before it began', async () => {
  await using folder = await temporaryFolder();
  const old = 'ko.2020-01-01T00-00-00.000Z.01234567';
  await mkdir(join(folder.path, '.removed', old), { recursive: true });
  const [ko] = kos;
  assert.ok(ko);
  await mkdir(join(folder.path, 'mine/src'), { recursive: true });
  for (const [path, text] of Object.entries(ko.files)) writeFileSync(join(folder.path, 'mine', path), text);
  await using service = await startService({ shelf: folder.path });
  assert.equal((await service.delete(`/kos/${ko.id}`)).status, 204);
  const { json } = await kgridJson<Cleaned>(['shelf', 'clean', folder.path, '--yes']);
  assert.deepEqual(json.deleted, [old]);
  assert.equal(json.stays.length, 1);
  assert.match(json.stays[0] ?? '', /^mine\./);
  assert.equal((await service.post(`/${ko.naan}/${ko.name}/1.0/welcome`, { name: 'Ann' })).status, 200);
});
