import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join, relative } from 'node:path';
import { after, test } from 'node:test';
import { checkedSender } from './support/interface-check.ts';
import { explode } from './support/folders.ts';
import { clientOf, pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, welcomeKo, zipOf } from './support/ko.ts';
import { PROJECT, runToEnd, startService, temporaryFolder } from './support/service.ts';
import type { Start } from './support/service.ts';

/** Asserts that the start is refused with one line that matches. */
async function assertRefused(start: Start, ...patterns: RegExp[]): Promise<void> {
  const end = await runToEnd(start);
  const what = JSON.stringify(start);
  assert.notEqual(end.code, 0, what);
  const isOfStart = (line: string): boolean => line.includes('"event":"starting"');
  const lines = `${end.stdout}\n${end.stderr}`.split('\n').filter((line) => line.trim() !== '' && !isOfStart(line));
  assert.equal(lines.length, 1, `${what}\n${lines.join('\n')}`);
  for (const pattern of patterns) assert.match(lines[0] ?? '', pattern);
}

test('--help lists every option with its variable', async () => {
  const { code, stdout } = await runToEnd({ args: ['--help'] });
  assert.equal(code, 0);
  for (const option of [
    'port',
    'host',
    'shelf',
    'profile',
    'manifest',
    'user',
    'password',
    'cors',
    'runtimes',
    'public-url',
    'trust-proxy',
  ]) {
    assert.match(stdout, new RegExp(`--${option}\\b`));
    assert.match(stdout, new RegExp(`KGRID_${option.toUpperCase().replace('-', '_')}\\b`));
  }
  for (const option of [
    'secure-execution',
    'oauth-issuer',
    'oauth-audience',
    'oauth-scope',
    'allow-file-manifests',
    'allow-private-manifests',
  ]) {
    assert.match(stdout, new RegExp(`--${option}\\b`));
  }
  assert.match(stdout, /8080/);
  assert.match(stdout, /127\.0\.0\.1/);
});

test('an unknown option stops the start with one line that names it', async () => {
  await Promise.all([
    assertRefused({ args: ['--shelv', '/x'] }, /--shelv/),
    assertRefused({ args: ['stray'] }, /stray/),
  ]);
});

test('a shelf folder that is not there is made, and holds all that is kept', async () => {
  await using place = await temporaryFolder();
  const [home, shelf] = [join(place.path, 'home'), join(place.path, 'new', 'shelf')];
  await using service = await startService({ shelf, env: { HOME: home } });
  await service.serve(welcomeKo({ naan: uniqueNaan() }));
  assert.equal((await service.get('/kos')).list.length, 1);
  await service.stop();
  assert.ok((await readdir(join(shelf, '.kgrid'))).includes('known-packages'));
  await assert.rejects(readdir(home), { code: 'ENOENT' });
});

test('a port in use stops the start', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const end = await runToEnd({ args: ['--port', String(port)] });
  taken.close();
  assert.notEqual(end.code, 0);
  assert.match(end.stdout + end.stderr, new RegExp(String(port)));
});

test('the names of the original are aliases', async () => {
  await using folder = await temporaryFolder();
  const [ko, listed] = [welcomeKo({ naan: uniqueNaan() }), welcomeKo({ naan: uniqueNaan() })];
  await explode(ko, folder.path, 'ko');
  await using place = await temporaryFolder();
  await writeFile(join(place.path, 'listed.zip'), await zipOf(listed.files));
  await writeFile(join(place.path, 'manifest.json'), JSON.stringify({ manifest: ['listed.zip'] }));
  const manifest = `file://${place.path}/manifest.json`;
  {
    await using service = await startService({
      shelf: false,
      profile: false,
      env: {
        SERVER_PORT: '0',
        SPRING_PROFILES_ACTIVE: 'cloud, dev',
        KGRID_SHELF_MANIFEST: manifest,
        KGRID_SHELF_CDOSTORE_URL: `filesystem:file://${folder.path}`,
      },
    });
    assert.ok('components' in (await service.get('/actuator/health')).object, 'dev');
    assert.equal((await service.post(pathOf(ko, 'welcome'), { name: 'Ada' })).status, 200);
    assert.equal((await service.post(pathOf(listed, 'welcome'), { name: 'Ada' })).status, 200);
  }
  await using secured = await startService({
    profile: false,
    env: { SPRING_SECURITY_USER_NAME: 'ada', SPRING_SECURITY_USER_PASSWORD: 'pw', SPRING_PROFILES_ACTIVE: 'cloud' },
    credentials: 'ada:pw',
  });
  assert.equal((await secured.get('/actuator/info')).status, 200);
  assert.equal((await checkedSender(secured.url)('GET', '/actuator/info')).status, 401);
});

test('the service listens on 127.0.0.1 unless a host is given', async () => {
  await using service = await startService();
  assert.match(service.url, /^http:\/\/127\.0\.0\.1:\d+$/);
  const other = Object.values(networkInterfaces())
    .flat()
    .find((face) => face?.family === 'IPv4' && !face.internal);
  if (other !== undefined) {
    const { port } = new URL(service.url);
    await assert.rejects(checkedSender(`http://${other.address}:${port}`)('GET', '/'), { code: 'ECONNREFUSED' });
  }
});

test('dev on another address is allowed, with a warning', async () => {
  await using service = await startService({ args: ['--host', '0.0.0.0'] });
  const { port } = new URL(service.url);
  const local = clientOf(`http://127.0.0.1:${port}`);
  assert.equal((await local.get('/kos')).status, 200);
  const warning = service.log.find((line) => line['level'] === 40 || line['level'] === 'warn');
  assert.match(JSON.stringify(warning), /dev/);
});

test('manifests are imported and activated at the start, failing ones do not stop it', async () => {
  await using place = await temporaryFolder();
  const [one, two, three] = [1, 2, 3].map((n) => welcomeKo({ naan: uniqueNaan(), name: `ko${n}` })) as [
    ReturnType<typeof welcomeKo>,
    ReturnType<typeof welcomeKo>,
    ReturnType<typeof welcomeKo>,
  ];
  for (const ko of [one, two, three]) await writeFile(join(place.path, `${ko.name}.zip`), await zipOf(ko.files));
  await writeFile(
    join(place.path, 'first.json'),
    JSON.stringify({ manifest: ['ko1.zip', 'none.zip', `file://${place.path}/ko2.zip`] }),
  );
  await writeFile(join(place.path, 'second.json'), JSON.stringify(['ko3.zip']));
  const manifests = [
    `file://${place.path}/first.json`,
    relative(PROJECT, join(place.path, 'second.json')),
    join(place.path, 'none.json'),
  ];
  await using service = await startService({
    profile: 'secure',
    args: manifests.flatMap((manifest) => ['--manifest', manifest]),
  });
  for (const ko of [one, two, three])
    assert.equal((await service.post(pathOf(ko, 'welcome'), { name: 'Ada' })).status, 200, ko.name);
  assert.ok(
    service.log.some((line) => JSON.stringify(line).includes('none.zip')),
    'the failure is logged',
  );
  assert.ok(
    service.log.some((line) => JSON.stringify(line).includes('none.json')),
    'the failure is logged',
  );
});

/** One service with what can be set together. */
const configured = startService({
  env: { TZ: 'America/New_York' },
  args: [
    ...['--public-url', 'https://grid.example.org/activator', '--log-level', 'debug'],
    ...['--property', 'greeting=hello=you', '--property', 'b=2'],
  ],
});
after(async () => (await configured)[Symbol.asyncDispose]());

test('--public-url is the address in links', async () => {
  const service = await configured;
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const link = String((await service.endpoints(ko.naan))[0]?.['swaggerLink']);
  assert.ok(link.startsWith('https://grid.example.org/activator/'), link);
  const shown = new URL(new URL(link).searchParams.get('url') ?? '', link);
  assert.equal(shown.href, `https://grid.example.org/activator/kos/${ko.id}/service.yaml`);
});

test('what code writes to the console is in the log, under its KO', async () => {
  const service = await configured;
  const ko = javascriptKo('function run() { console.log("spoken by the code"); }', { naan: uniqueNaan() });
  await service.serve(ko);
  await service.post(pathOf(ko), {});
  const line = await service.logged((each) => JSON.stringify(each).includes('spoken by the code'));
  assert.ok(JSON.stringify(line).includes(ko.naan));
  assert.ok(!service.stderr().includes('spoken'));
});

test('the version is told by --version and by the first line of the log', async () => {
  const { code, stdout, stderr } = await runToEnd({ args: ['--version'] });
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^KGrid Activator \d+\.\d+\.\d+(\+[0-9a-f]{12})? \(Node v\d+\.\d+\.\d+\)$/);
  const service = await configured;
  const [first] = service.log;
  assert.equal(first?.['event'], 'starting');
  assert.equal(first?.['msg'], `${stdout} starts`);
  const { build } = (await service.get('/actuator/info')).object as { build: Record<string, unknown> };
  assert.deepEqual([build['version'], build['commit']], [first?.['version'], first?.['commit']]);
  const labels = `version="${String(build['version'])}",commit="${String(build['commit'])}"`;
  assert.ok((await service.get('/actuator/prometheus')).text.includes(`kgrid_build_info{${labels},node="`));
});

test('what ends a start is a line of JSON where the log is', async () => {
  for (const args of [
    ['--log-format', 'json', '--port', '99999'],
    ['--log-format=json', '--no-such-option'],
    ['--log-format', 'json', '--shelf-password-file', '/none'],
  ]) {
    const { code, stdout, stderr } = await runToEnd({ args });
    assert.deepEqual([code, stdout], [1, '']);
    const line = JSON.parse(stderr) as Record<string, unknown>;
    assert.deepEqual([line['level'], line['event'], line['code']], ['fatal', 'ended-by-error', 'start-refused']);
    assert.match(String(line['msg']), /--(port|no-such-option|shelf-password-file)/);
  }
});
