/** The commands for people who look after the knowledge objects of a running activator. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { ENGINES } from '../../src/engines/table.ts';
import { zipOf } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { emptyService } from './empty-service.ts';
import { edit, filesIn, fromTemplate, kgrid, kgridJson, LAUNCHER, lineOf, temporaryFolder } from './kgrid.ts';
import type { Ended } from './kgrid.ts';

const secured = {
  profile: 'secure',
  env: { KGRID_USER: 'ann', KGRID_PASSWORD: 'secret word' },
  credentials: 'ann:secret word',
} as const;

const lines = ({ stdout }: Ended): string[] => stdout.split('\n').slice(0, -1);

test('list and status say what an activator has, what runs there, and why the rest does not', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const code = await fromTemplate('javascript', cwd, 'code');
  await edit(join(code, 'metadata.json'), /"title": ".*"/, '"title": "Blood \\u001b[2J pressure"');
  const failing = await fromTemplate('javascript', cwd, 'failing');
  await edit(join(failing, 'src/index.js'), 'const mean', 'const const mean');
  const line = await lineOf(join(failing, 'src/index.js'), 'const const mean');
  await fromTemplate('resource', cwd, 'card');
  await using service = await startService(secured);
  const { url } = service;
  const env = { KGRID_URL: url, ...secured.env };
  assert.equal((await kgrid(['list'], { env })).stdout, 'There are no knowledge objects\n');
  assert.equal((await kgrid(['status'], { env })).code, 0);
  await kgrid(['push', 'code', 'failing', 'card', '--no-test'], { cwd, env });

  const list = await kgrid(['list'], { env });
  assert.equal(list.code, 0);
  assert.deepEqual(lines(list), [
    'ID                 TITLE                     ENGINES     ENDPOINTS',
    'test/card/v1.0     card                      resource    1 active',
    'test/code/v1.0     Blood \\u001b[2J pressure  javascript  1 active',
    'test/failing/v1.0  failing                   javascript  1 failed',
  ]);
  assert.deepEqual(lines(await kgrid(['list', 'RESOURCE'], { env })).slice(1), [
    'test/card/v1.0  card   resource  1 active',
  ]);
  const json = await kgridJson<{ kos: { ko: string; endpoints: unknown[] }[] }>(['list', 'pressure'], { env });
  assert.deepEqual([json.json.kos.map(({ ko }) => ko), json.json.kos[0]?.endpoints.length], [['test/code/v1.0'], 1]);

  const [known, anonymous] = await Promise.all([kgrid(['status'], { env }), kgrid(['status', '--url', url])]);
  assert.deepEqual([known.code, anonymous.code], [1, 1], 'something failed');
  const longest = Math.max(...ENGINES.map(({ name }) => name.length));
  assert.deepEqual(lines(known), [
    `UP  ${url}  3 knowledge objects  endpoints: 2 active, 1 failed`,
    ...ENGINES.map(({ name, builtIn }) => `  engine ${name.padEnd(longest)}  ${builtIn ? 'UP' : 'DOWN'}`),
    `  FAILED_TO_ACTIVATE  ${url}/test/failing/1.0/calculate  javascript`,
    `    SyntaxError: Unexpected token 'const' (src/index.js line ${line}, column 9)`,
  ]);
  assert.equal(lines(anonymous)[0], `UP  ${url}  endpoints: 2 active, 1 failed`);
  assert.match(anonymous.stderr, /are shown to those who log in/);
  const [runs, fails, none] = await Promise.all(
    ['test/card', 'ark:/test/failing/v1.0', 'test/none'].map((id) => kgrid(['status', id], { env })),
  );
  assert.deepEqual([runs?.code, fails?.code, none?.code], [0, 1, 1]);
  assert.match(
    fails?.stdout ?? '',
    new RegExp(`^test/failing/v1\\.0 {2}failing {2}1 failed\\n.*\\n {4}SyntaxError: .*line ${line}, column 9\\)\\n$`),
  );
  assert.match(none?.stderr ?? '', /^There is no test\/none at http.*: "kgrid list" says what there is$/m);
  assert.ok(!`${known.stdout}${known.stderr}${anonymous.stdout}${anonymous.stderr}`.includes('secret word'));
});

test('delete asks, says what stays active, and ends it when it is told to', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  await fromTemplate('javascript', cwd, 'map');
  await using service = await startService(secured);
  const env = { KGRID_URL: service.url, ...secured.env };
  const push = (): Promise<Ended> => kgrid(['push', 'map', '--no-test'], { cwd, env });
  assert.equal((await push()).code, 0);

  const unasked = await kgrid(['delete', 'test/map/v1.0'], { env });
  assert.deepEqual([unasked.code, unasked.stdout], [2, '']);
  assert.match(unasked.stderr, /^Nobody can be asked here: say --yes to delete test\/map\/v1\.0$/m);
  const anonymous = await kgrid(['delete', 'test/map/v1.0', '--yes', '--url', service.url]);
  assert.deepEqual([anonymous.code, (await service.get('/kos/test/map/v1.0')).status], [3, 200]);

  const deleted = await kgrid(['delete', 'test/map/v1.0', '--yes'], { env });
  assert.equal(deleted.code, 0, deleted.stderr);
  assert.match(
    deleted.stdout,
    /^Deleted test\/map\/v1\.0 at .*\n {2}1 endpoint of it stays active until a refresh; .*--refresh/,
  );
  assert.equal((await service.get('/kos/test/map/v1.0')).status, 404);
  assert.match((await kgrid(['list'], { env })).stdout, /^test\/map\/v1\.0 .* 1 active, deleted: until a refresh$/m);
  assert.match((await kgrid(['status', 'test/map/v1.0'], { env })).stdout, /It is not on the shelf any more/);
  const again = await kgrid(['delete', 'test/map/v1.0', '--yes'], { env });
  assert.deepEqual([again.code, again.stderr.startsWith('There is no test/map/v1.0 at ')], [1, true]);

  assert.equal((await push()).code, 0);
  const whole = await kgrid(['delete', 'test/map/v1.0', '--yes', '--refresh'], { env });
  assert.match(whole.stdout, /\n {2}Its endpoints have ended\n$/);
  assert.deepEqual((await service.get('/endpoints')).list, []);
  assert.equal((await kgrid(['delete', 'test/map', '--yes'], { env })).code, 2, 'never a version that was not named');
});

test('pull brings what push took, and loses nothing that is there', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  await fromTemplate('javascript', cwd, 'map');
  const service = await emptyService();
  const env = { KGRID_URL: service.url };
  const options = { cwd, env };
  await kgrid(['push', 'map', '--no-test'], options);

  const pulled = await kgrid(['pull', 'test/map'], options);
  assert.deepEqual([pulled.code, lines(pulled)], [0, [`test-map-v1.0: test/map/v1.0 from ${service.url}, 6 files`]]);
  const target = join(cwd, 'test-map-v1.0');
  for (const path of await filesIn(join(cwd, 'map')))
    assert.deepEqual(await readFile(join(target, path)), await readFile(join(cwd, 'map', path)));
  await writeFile(join(target, 'src/index.js'), 'mine');
  await writeFile(join(target, 'notes.txt'), 'mine');
  const refused = await kgrid(['pull', 'test/map/v1.0'], options);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^test-map-v1\.0 is there already: .* --output, or say --force/);
  assert.equal(await readFile(join(target, 'src/index.js'), 'utf8'), 'mine');
  const forced = await kgrid(['pull', 'test/map/v1.0', '--force'], options);
  assert.equal(forced.code, 0, forced.stderr);
  assert.equal(lines(forced)[1], '  notes.txt is not part of it, and was left as it is');
  assert.notEqual(await readFile(join(target, 'src/index.js'), 'utf8'), 'mine');

  const zipped = await kgrid(['pull', 'test/map', '-o', 'out/map.zip'], options);
  assert.equal(zipped.code, 0, zipped.stderr);
  assert.equal((await kgrid(['check', 'out/map.zip'], options)).code, 0);
  assert.equal((await kgrid(['pull', 'test/map', '-o', 'out/map.zip'], options)).code, 2);
  assert.equal((await kgrid(['pull', 'test/other'], options)).code, 1);

  await mkdir(join(cwd, 'elsewhere'));
  await rename(join(target, 'src'), join(cwd, 'before'));
  await symlink(join(cwd, 'elsewhere'), join(target, 'src'));
  const led = await kgrid(['pull', 'test/map', '--force'], options);
  assert.deepEqual([led.code, await filesIn(join(cwd, 'elsewhere'))], [2, []]);
  assert.match(led.stderr, /^test-map-v1\.0\/src is a link that leads out of test-map-v1\.0/);
});

test('diff names files and shows texts; its exit code is that of programs that compare', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const ko = await fromTemplate('javascript', cwd, 'map');
  await writeFile(join(ko, 'old.bin'), Buffer.from([0, 1]));
  await writeFile(join(ko, 'same.bin'), Buffer.from([0, 1]));
  const service = await emptyService();
  const options = { cwd, env: { KGRID_URL: service.url } };
  await kgrid(['push', 'map', '--no-test'], options);
  const same = await kgrid(['diff', 'map'], options);
  assert.deepEqual([same.code, same.stdout], [0, `map is the same as test/map/v1.0 at ${service.url}\n`]);
  await kgrid(['pack', 'map', '-o', 'map.zip'], options);
  assert.equal((await kgrid(['diff', 'map.zip', 'test/map'], options)).code, 0);

  // In another order and form it says the same.
  const metadata = JSON.parse(await readFile(join(ko, 'metadata.json'), 'utf8')) as Record<string, unknown>;
  const turned = Object.fromEntries(Object.entries(metadata).reverse());
  await writeFile(join(ko, 'metadata.json'), JSON.stringify(turned));
  assert.equal((await kgrid(['diff', 'map'], options)).code, 0);
  await writeFile(join(ko, 'metadata.json'), JSON.stringify({ ...turned, title: 'Mean \u009b2J' }));
  await writeFile(join(ko, 'old.bin'), Buffer.from([0, 2]));
  await rename(join(ko, 'same.bin'), join(ko, 'new.bin'));
  await edit(join(ko, 'src/index.js'), '2 * diastolic', '3 * diastolic');
  const differs = await kgrid(['diff', 'map'], options);
  assert.equal(differs.code, 1);
  const said = lines(differs);
  assert.deepEqual(said.slice(0, 6), [
    `map differs from test/map/v1.0 at ${service.url}:`,
    '  changed  metadata.json',
    '  added    new.bin',
    '  changed  old.bin',
    '  removed  same.bin',
    '  changed  src/index.js',
  ]);
  const changed = said.slice(6).filter((line) => /^[+-]/.test(line));
  assert.deepEqual(
    changed.map((line) => line.replace(service.url, '')),
    [
      '--- /kos/test/map/v1.0/metadata.json',
      '+++ map/metadata.json',
      '-  "title": "map",',
      '+  "title": "Mean \\u009b2J",',
      '--- /kos/test/map/v1.0/src/index.js',
      '+++ map/src/index.js',
      changed.at(-2),
      changed.at(-2)?.replace('-', '+').replace('2 * diastolic', '3 * diastolic'),
    ],
  );
  assert.equal(await whenNobodyReads(['diff', 'map'], options), '', 'as head does');
  const named = await kgrid(['diff', 'map', '--no-text'], options);
  assert.deepEqual([named.code, lines(named)], [1, said.slice(0, 6)]);

  for (const wrong of [
    ['diff', 'map', 'test/other'],
    ['diff', 'gone'],
    ['diff', 'map', '--url', 'http://127.0.0.1:9'],
  ])
    assert.equal((await kgrid(wrong, options)).code, 2, wrong.join(' '));
});

/** What a command says to standard error whose output nobody reads. */
async function whenNobodyReads(args: string[], { cwd, env }: { cwd: string; env: object }): Promise<string> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    cwd,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  return text(child.stderr);
}

/** An activator that wants to do harm. */
async function hostile(answer: RequestListener): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('an activator can neither write elsewhere nor command the terminal', async () => {
  await using folder = await temporaryFolder();
  const cwd = join(folder.path, 'here');
  await mkdir(cwd);
  const good = { 'metadata.json': '{"@id": "a/b/v1.0"}' };
  const zip = await zipOf({ ...good, 'xx/out.txt': 'out' });
  const climbs = Buffer.from(zip.toString('latin1').replaceAll('xx/out.txt', '../out.txt'), 'latin1');
  await using service = await hostile((request, response) => {
    const { headers } = request;
    const [url] = (request.url ?? '').split('?');
    if (url === '/kos/a/b') response.end('{"@id": "../../b"}');
    else if (url === '/kos/a/c') response.end('{"@id": "a/d/v1.0"}');
    else if (url === '/kos')
      response.end('[{"@id": "../x/v1"}, {"@id": "a/b/v1.0", "title": "A\\u001b]0;x\\u0007\\nB"}, 7]');
    else if (url === '/endpoints')
      response.end(
        '[{"@id": "a/b/1/c", "knowledgeObject": "/kos/a/b/v1.0", "engine": "j\\u001b[2J", "status": "\\u001b[8m", "detail": "x\\rok"}]',
      );
    else if (headers.accept === 'application/zip') response.end(climbs);
    else response.writeHead(418).end('{"Detail": "no \\u001b[2J tea"}');
  });
  const options = { cwd, env: { KGRID_URL: service.url, KGRID_TOKEN: 'very.secret.token' } };
  const commands = [
    ['pull', 'a/b'],
    ['pull', 'a/c'],
    ['pull', 'a/b/v1.0'],
    ['diff', '.', 'a/b/v1.0'],
    ['list'],
    ['status'],
    ['status', 'a/b/v1.0'],
    ['delete', 'a/b/v1.0', '--yes'],
  ];
  const ended = await Promise.all(commands.map((args) => kgrid(args, options)));
  assert.deepEqual(
    ended.map(({ code }) => code),
    [3, 3, 3, 2, 0, 3, 3, 3],
  );
  const said = ended.map(({ stdout, stderr }) => stdout + stderr).join('');
  assert.match(said, /is no package: The zip entry "\.\.\/out\.txt" /);
  assert.doesNotMatch(said, /(?![\n\t])\p{Cc}|very\.secret/u);
  assert.deepEqual(await filesIn(folder.path), []);
  assert.match(ended[4]?.stdout ?? '', /^a\/b\/v1\.0 {2}A\\u001b\]0;x\\u0007\\u000aB {2}j\\u001b\[2J {2}not active$/m);
});
