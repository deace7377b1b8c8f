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
    folder: '',
    of: 0,
    apiVersion: '1.10',
    missing: [],
  },
];
const [from = assert.fail()] = SERVICES;
const READING: PackageReading = {
  services: SERVICES,
  declared: [...from.deployment.endpoints.values()].flat().map((entry) => ({ from, entry })),
  descriptor: 'service.yaml',
  hooks: true,
};
/** All of it, as whoever looks at each part finds it. */
const whole = (reading: PackageReading | undefined) =>
  reading && {
    services: reading.services,
    descriptor: reading.descriptor,
    hooks: reading.hooks,
    declared: reading.declared.map(({ from: { service, deployment, folder, of, apiVersion, missing }, entry }) => [
      { service, deployment, folder, of, apiVersion, missing },
      ENTRY_PARTS.map((part) => entry[part]),
    ]),
  };
const ENTRY_PARTS = [
  'path',
  'method',
  'engine',
  'artifacts',
  'entry',
  'function',
  'package',
  'module',
  'installs',
  'isolation',
  'timeout',
  'validate',
  'network',
  'listsExports',
  'note',
  'raw',
  'line',
  'problems',
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
