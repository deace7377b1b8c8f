import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parseDeployment } from '../knowledge-object/descriptors/deployment.ts';
import type { DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import { parseService } from '../knowledge-object/descriptors/service.ts';
import { KnownPackages } from './known-packages.ts';
import type { PackageReading } from './loaded-ko.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'known-packages-'));
});
after(() => rm(folder, { recursive: true }));

const SERVICE = 'info: {version: 1.10}\nservers: [{url: /a/b}]\npaths:\n  /x:\n    post: {responses: {}}\n';
const DEPLOYMENT = '/x:\n  post:\n    artifact: [src/a.js, src/b.js]\n    engine: javascript\n    entry: src/a.js\n';
const SERVICES = [
  {
    service: parseService(SERVICE, 'service.yaml'),
    deployment: parseDeployment(DEPLOYMENT, 'deployment.yaml'),
    ...{ folder: '', of: 0, apiVersion: '1.10', missing: [] },
  },
];
const [from = assert.fail()] = SERVICES;
const READING: PackageReading = {
  services: SERVICES,
  declared: [...from.deployment.endpoints.values()].flat().map((entry) => ({ from, entry })),
  descriptor: 'service.yaml',
};
/** All of it, as whoever looks at each part finds it. */
const whole = (reading: PackageReading | undefined) =>
  reading && {
    services: reading.services,
    descriptor: reading.descriptor,
    declared: reading.declared.map(({ from: { service, deployment, folder, of, apiVersion, missing }, entry }) => [
      { service, deployment, folder, of, apiVersion, missing },
      ENTRY_PARTS.map((part) => entry[part]),
    ]),
  };
const ENTRY_PARTS = [
  ...['path', 'method', 'engine', 'artifacts', 'entry', 'function', 'package', 'module', 'installs', 'isolation'],
  ...['timeout', 'validate', 'network', 'listsExports', 'note', 'raw', 'line', 'problems'],
] as (keyof DeploymentEntry)[];
const packageOf = (name: string) => ({ id: { naan: 'a', name, version: 'v1' }, digest: `digest of ${name}` });

test('what one start found out is there at the next, unchanged', async () => {
  const file = join(folder, 'kept');
  const first = await KnownPackages.open(file, '1');
  first.rememberReading(packageOf('package'), READING, true);
  first.rememberLoad('code', true);
  await first.save();
  const second = await KnownPackages.open(file, '1');
  assert.deepEqual(whole(second.reading(packageOf('package'))), whole(READING));
  assert.equal(second.reading({ ...packageOf('package'), digest: 'of other content' }), undefined);
  assert.equal(second.reading({ ...packageOf('other'), digest: packageOf('package').digest }), undefined);
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
  first.rememberReading(packageOf('gone'), READING, true);
  await first.save();
  const second = await KnownPackages.open(file, '1');
  second.rememberReading(packageOf('new'), READING, true);
  await second.save();
  const third = await KnownPackages.open(file, '1');
  assert.equal(third.reading(packageOf('gone')), undefined);
  assert.deepEqual(whole(third.reading(packageOf('new'))), whole(READING));
});

test('what is used stays when the file is written again', async () => {
  const file = join(folder, 'stays');
  const first = await KnownPackages.open(file, '1');
  for (const name of ['a', 'b', 'c', 'd']) first.rememberReading(packageOf(name), READING, true);
  first.rememberLoad('code', true);
  await first.save();
  const second = await KnownPackages.open(file, '1');
  second.reading(packageOf('a'));
  second.loads('code');
  second.rememberReading(packageOf('e'), READING, true);
  await second.save();
  const third = await KnownPackages.open(file, '1');
  const found = ['a', 'b', 'c', 'd', 'e'].filter((name) => third.reading(packageOf(name)) !== undefined);
  assert.deepEqual([found, third.loads('code')], [['a', 'e'], true]);
});

test('of more than it may remember, the last used are remembered', async () => {
  const file = join(folder, 'most');
  const first = await KnownPackages.open(file, '1', 2);
  for (const name of ['a', 'b', 'c']) first.rememberReading(packageOf(name), READING, true);
  await first.save();
  const second = await KnownPackages.open(file, '1', 2);
  assert.deepEqual(
    ['a', 'b', 'c'].map((name) => second.reading(packageOf(name)) !== undefined),
    [false, true, true],
  );
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
  first.rememberReading(packageOf('a'), READING, true);
  void first.save();
  await first.save();
  assert.deepEqual(whole((await KnownPackages.open(file, '1')).reading(packageOf('a'))), whole(READING));
});

test('what is new is added to what is kept, and what was cut off in the middle is found out again', async () => {
  const file = join(folder, 'added-to');
  const first = await KnownPackages.open(file, '1');
  for (const name of ['a', 'b', 'c']) first.rememberReading(packageOf(name), READING, true);
  await first.save();
  const before = await readFile(file);
  first.rememberReading(packageOf('d'), READING, true);
  await first.save();
  const after = await readFile(file);
  assert.ok(after.subarray(0, before.length).equals(before));
  assert.ok(after.length < before.length * 1.5);

  await writeFile(file, after.subarray(0, -3));
  const second = await KnownPackages.open(file, '1');
  for (const name of ['a', 'b', 'c']) assert.deepEqual(whole(second.reading(packageOf(name))), whole(READING));
  assert.equal(second.reading(packageOf('d')), undefined);
  second.rememberReading(packageOf('d'), READING, true);
  await second.save();
  const third = await KnownPackages.open(file, '1');
  for (const name of ['a', 'b', 'c', 'd']) assert.deepEqual(whole(third.reading(packageOf(name))), whole(READING));
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
  known.rememberReading(packageOf('package'), READING, true);
  await known.save();
  assert.equal(known.reading(packageOf('package')), undefined);
});
