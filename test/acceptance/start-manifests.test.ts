import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertRequestError } from './support/expectations.ts';
import { welcomeKo, zipOf } from './support/ko.ts';
import { servePlaces } from './support/places.ts';
import { runToEnd, startService, temporaryFolder } from './support/service.ts';

const ko = welcomeKo({ naan: 'a', name: 'late' });
const path = `/${ko.naan}/${ko.name}/1.0/welcome`;

interface Health {
  readonly status: string;
  readonly components?: Readonly<Record<string, { status: string; details: Record<string, unknown> } | undefined>>;
}

test('while manifests are on their way, what is not known is 503 and may be asked for again; then it runs', async () => {
  const asked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const zip = await zipOf(ko.files);
  await using web = await servePlaces({
    '/manifest.json': Buffer.from('["late.zip"]'),
    '/late.zip': (_, response) => {
      asked.resolve();
      void release.promise.then(() => response.end(zip));
    },
  });
  await using service = await startService({ args: ['--manifest', `${web.url}/manifest.json`], early: true });
  await asked.promise;
  const known = welcomeKo({ naan: 'a', name: 'known' });
  await service.serve(known);
  // Plain calls, and those that only the router takes: a page's, one with a version in the query, a resource.
  const answers = [
    await service.post(path, { name: 'Ann' }),
    await service.post(path, { name: 'Ann' }, { origin: 'http://page.example' }),
    await service.post(`/a/late/welcome?v=1.0`, { name: 'Ann' }),
    await service.post(`/a/known/2.0/welcome`, { name: 'Ann' }),
    await service.get(`/a/late/1.0/files/table.csv`),
  ];
  for (const answer of answers) {
    assert.equal(answer.status, 503, answer.text);
    assert.match(String(answer.headers['retry-after']), /^\d+$/);
    assert.match(answer.text, /the manifests of the start are being imported/);
  }
  assert.equal((await service.post('/a/known/1.0/welcome', { name: 'Ann' })).status, 200);
  assert.equal((await service.post('/kos/nothing/here', {})).status, 405, 'paths of the service are no calls');
  const before = (await service.get('/actuator/health')).json as Health;
  assert.deepEqual(before.components?.['startManifests'], {
    status: 'UP',
    details: { manifests: 1, arriving: true, imported: 0, failures: [] },
  });
  release.resolve();
  await service.ready();
  assert.equal((await service.post(path, { name: 'Ann' })).status, 200);
  const missing = await service.post('/a/never/1.0/welcome', {});
  assertRequestError(missing, {
    status: 404,
    path: '/a/never/1.0/welcome',
    title: 'Endpoint not found',
    detail: /^No active endpoints found/,
  });
});

test('a manifest that fails stands in health and as an error in the log, and the rest serves', async () => {
  await using folder = await temporaryFolder();
  const zip = await zipOf(ko.files);
  await writeFile(join(folder.path, 'late.zip'), zip);
  await writeFile(join(folder.path, 'partly.json'), '{"manifest": ["late.zip", "none.zip"]}');
  await writeFile(join(folder.path, 'empty.json'), '[]');
  const args = ['partly', 'empty', 'absent'].flatMap((name) => ['--manifest', join(folder.path, `${name}.json`)]);
  await using service = await startService({ args });
  const { status, components } = (await service.get('/actuator/health')).json as Health;
  assert.equal(status, 'UP');
  assert.deepEqual(components?.['startManifests'], {
    status: 'DOWN',
    details: {
      manifests: 3,
      arriving: false,
      imported: 1,
      failures: [
        { manifest: 'partly.json', imported: 1, failed: 1, causes: ['none.zip names no file'] },
        { manifest: 'empty.json', imported: 0, failed: 0, causes: [] },
        { manifest: 'absent.json', imported: 0, failed: 1, causes: ['absent.json names no file'] },
      ],
    },
  });
  const errors = service.log.filter(({ level }) => level === 'error').map(({ msg }) => String(msg));
  assert.deepEqual(errors.sort(), [
    `of the manifest ${folder.path}/partly.json, none.zip was not imported: it names no file`,
    `the manifest ${folder.path}/absent.json names no file`,
    `the manifest ${folder.path}/empty.json lists no knowledge objects`,
  ]);
  assert.equal((await service.post(path, { name: 'Ann' })).status, 200);
});

test('without a login health says nothing of manifests', async () => {
  await using service = await startService({ args: ['--manifest', '/no/such/manifest.json'], profile: 'secure' });
  assert.deepEqual((await service.get('/actuator/health')).json, { status: 'UP' });
});

test('a manifest that is required and fails, wholly or in part, stops the start with one line', async () => {
  await using folder = await temporaryFolder();
  const [part, absent] = [join(folder.path, 'part.json'), join(folder.path, 'absent.json')];
  await writeFile(join(folder.path, 'late.zip'), await zipOf(ko.files));
  await writeFile(part, '["late.zip", "none.zip", "none too.zip"]');
  const cases = [
    [absent, `the manifest ${absent} names no file`],
    [part, `of the manifest ${part}, none.zip was not imported: it names no file, and 1 more`],
  ] as const;
  for (const [manifest, why] of cases) {
    const end = await runToEnd({ args: ['--manifest', manifest, '--manifest-required'] });
    assert.deepEqual([end.code, end.stderr], [1, `--manifest-required: ${why}\n`]);
  }
  const without = await runToEnd({ args: ['--manifest-required'] });
  assert.deepEqual([without.code, without.stderr], [1, '--manifest-required needs a manifest: give --manifest\n']);
});

test('a shelf folder that is not there is made, with a warning that names it', async () => {
  await using folder = await temporaryFolder();
  const shelf = join(folder.path, 'shelfs/mispelt');
  await using service = await startService({ shelf });
  const warnings = service.log.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
  assert.deepEqual(warnings, [`--shelf: there was no folder ${shelf}: it was made, and nothing is on it yet`]);
  await using other = await startService();
  assert.deepEqual(
    other.log.filter(({ level }) => level === 'warn'),
    [],
  );
});
