import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parseDeployment } from '../knowledge-object/descriptors/deployment.ts';
import { parseService } from '../knowledge-object/descriptors/service.ts';
import { KnownPackages } from './known-packages.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'known-packages-'));
});
after(() => rm(folder, { recursive: true }));

const SERVICE = 'info: {version: 1.10}\nservers: [{url: /a/b}]\npaths:\n  /x:\n    post: {responses: {}}\n';
const DEPLOYMENT = '/x:\n  post:\n    artifact: [src/a.js, src/b.js]\n    engine: javascript\n    entry: src/a.js\n';
const parse = () => ({
  service: parseService(SERVICE, 'service.yaml'),
  deployment: parseDeployment(DEPLOYMENT, 'deployment.yaml'),
});
const never = (): never => assert.fail('it is known already');

test('what one start found out is there at the next, unchanged', async () => {
  const file = join(folder, 'kept');
  const first = await KnownPackages.open(file, '1');
  await first.descriptors('package', parse);
  first.rememberLoad('code', true);
  await first.save();
  const second = await KnownPackages.open(file, '1');
  assert.deepEqual(await second.descriptors('package', never), parse());
  assert.equal(second.loads('code'), true);
  assert.equal(second.loads('other code'), false);
});

test('that code loads is taken from an earlier start once, and no longer when it failed since', async () => {
  const file = join(folder, 'once');
  const first = await KnownPackages.open(file, '1');
  first.rememberLoad('code', true);
  assert.equal(first.loads('code'), false);
  await first.save();
  const second = await KnownPackages.open(file, '1');
  assert.deepEqual([second.loads('code'), second.loads('code')], [true, false]);
  second.rememberLoad('code', false);
  await second.save();
  assert.equal((await KnownPackages.open(file, '1')).loads('code'), false);
});

test('another version of the service finds out anew', async () => {
  const file = join(folder, 'versions');
  const first = await KnownPackages.open(file, '1');
  first.rememberLoad('code', true);
  await first.save();
  assert.equal((await KnownPackages.open(file, '2')).loads('code'), false);
});

test('packages that are gone are forgotten at the next change', async () => {
  const file = join(folder, 'gone');
  const first = await KnownPackages.open(file, '1');
  await first.descriptors('gone', parse);
  await first.save();
  const second = await KnownPackages.open(file, '1');
  await second.descriptors('new', parse);
  await second.save();
  let parsed = 0;
  const third = await KnownPackages.open(file, '1');
  await third.descriptors('gone', () => (parsed++, parse()));
  assert.equal(parsed, 1);
});

test('of more than it may remember, the last used are remembered', async () => {
  const known = await KnownPackages.open(undefined, '1', 2);
  let parsed = 0;
  const held: unknown[] = [];
  const look = async (key: string): Promise<unknown> =>
    held.push(await known.descriptors(key, () => (parsed++, parse())));
  for (const key of ['a', 'b', 'a', 'c', 'a']) await look(key);
  assert.equal(parsed, 3);
  await look('b');
  assert.equal(parsed, 4);
});

test('of more code than it may remember, the last that was seen to load is remembered', async () => {
  const file = join(folder, 'bounded');
  const first = await KnownPackages.open(file, '1', 2);
  for (const code of ['a', 'b', 'c']) first.rememberLoad(code, true);
  await first.save();
  const second = await KnownPackages.open(file, '1', 2);
  assert.deepEqual(
    ['a', 'b', 'c'].map((code) => second.loads(code)),
    [false, true, true],
  );
});

test('who waits for what is known to be kept waits for what is being written too', async () => {
  const file = join(folder, 'waited-for');
  const first = await KnownPackages.open(file, '1');
  await first.descriptors('a', parse);
  void first.save();
  await first.save();
  const second = await KnownPackages.open(file, '1');
  await second.descriptors('a', () => assert.fail('it was not kept'));
});

test('what is new is added to what is kept, and what was cut off in the middle is found out again', async () => {
  const file = join(folder, 'added-to');
  const first = await KnownPackages.open(file, '1');
  for (const key of ['a', 'b', 'c']) await first.descriptors(key, parse);
  await first.save();
  const before = await readFile(file);
  await first.descriptors('d', parse);
  await first.save();
  const after = await readFile(file);
  assert.ok(after.subarray(0, before.length).equals(before));
  assert.ok(after.length < before.length * 1.5);

  await writeFile(file, after.subarray(0, -3));
  const second = await KnownPackages.open(file, '1');
  for (const key of ['a', 'b', 'c']) assert.deepEqual(await second.descriptors(key, never), parse());
  let parsed = 0;
  await second.descriptors('d', () => (parsed++, parse()));
  assert.equal(parsed, 1);
  await second.save();
  const third = await KnownPackages.open(file, '1');
  for (const key of ['a', 'b', 'c', 'd']) assert.deepEqual(await third.descriptors(key, never), parse());
});

test('a damaged or missing file is as good as none', async () => {
  const file = join(folder, 'damaged');
  await writeFile(file, 'not what was written');
  const known = await KnownPackages.open(file, '1');
  assert.equal(known.loads('code'), false);
  known.rememberLoad('code', true);
  await known.save();
  assert.notEqual(await readFile(file, 'latin1'), 'not what was written');
  assert.equal((await KnownPackages.open(join(folder, 'missing'), '1')).loads('code'), false);
});

test('where nothing can be kept the service goes on', async () => {
  const known = await KnownPackages.open(join(folder, 'no/such/folder'), '1');
  await known.descriptors('package', parse);
  await known.save();
  assert.deepEqual(await known.descriptors('package', never), parse());
});

test('what no knowledge object has any more is let go of, and what one has stays', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const known = await KnownPackages.open(join(folder, 'let-go'), '1');
  const held = await known.descriptors('active', parse);
  const replaced = new WeakRef(await known.descriptors('replaced', parse));
  await known.save();
  // What a turn of the event loop has seen stays until it is over.
  for (let i = 0; i < 100 && replaced.deref() !== undefined; i++) {
    await new Promise(setImmediate);
    collect();
  }
  assert.equal(replaced.deref(), undefined);
  assert.equal(await known.descriptors('active', never), held);
});
