import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { ENGINES } from '../../src/engines/table.ts';
import { startService } from '../acceptance/support/service.ts';
import { emptyService } from './empty-service.ts';
import { edit, filesIn, fromTemplate, kgrid, kgridJson, LAUNCHER, PROJECT, temporaryFolder } from './kgrid.ts';
import type { RunOptions } from './kgrid.ts';
import { longTest } from '../support/round.ts';

interface Packed {
  ok: boolean;
  file: string;
  sha256: string;
  packageDigest: string;
  files: string[];
  leftOut: { path: string; why: string }[];
}

test('the same files always give the same zip, and what stays behind is named', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('javascript', folder.path, 'map');
  const cwd = folder.path;
  const first = await kgridJson<Packed>(['pack', 'map'], { cwd });
  assert.deepEqual([first.code, first.json.file, first.json.leftOut], [0, 'test-map-v1.0.zip', []]);

  await mkdir(join(ko, '.git'));
  await mkdir(join(ko, 'src/__pycache__'));
  await mkdir(join(ko, 'node_modules/x'), { recursive: true });
  for (const file of ['.git/HEAD', '.env', 'src/__pycache__/a.pyc', 'node_modules/x/index.js', 'src/index.js~'])
    await writeFile(join(ko, file), 'mine');
  await symlink('/etc/passwd', join(ko, 'link'));
  await utimes(join(ko, 'src/index.js'), 1, 1);
  const inside = await kgridJson<Packed>(['pack', '.', '-o', 'out.zip'], { cwd: ko });
  const again = await kgridJson<Packed>(['pack', '.', '-o', 'out.zip'], { cwd: ko });
  assert.equal(inside.json.sha256, first.json.sha256);
  assert.equal(again.json.sha256, first.json.sha256, 'a zip in the folder is not packed into the next one');
  assert.deepEqual(
    again.json.leftOut.map(({ path }) => path),
    ['.env', '.git/', 'link', 'node_modules/', 'out.zip', 'src/__pycache__/', 'src/index.js~'],
  );
  assert.deepEqual(again.json.files, [
    'README.md',
    'deployment.yaml',
    'metadata.json',
    'service.yaml',
    'src/index.js',
    'worked-examples.yaml',
  ]);
  const checked = await kgrid(['check', 'test-map-v1.0.zip'], { cwd });
  assert.equal(checked.code, 0);
  assert.match(
    checked.stdout,
    /^test\/map\/v1\.0: no problems, 3 worked examples passed\n {2}read as generation 1; .*\n$/,
  );
});

test('the digest that pack prints is the one that an activator has of it', async () => {
  await using folder = await temporaryFolder();
  await fromTemplate('javascript', folder.path, 'map');
  const { json, stdout } = await kgridJson<Packed>(['pack', 'map'], { cwd: folder.path });
  assert.match(json.packageDigest, /^sha256:[0-9a-f]{64}$/);
  assert.ok((await kgrid(['pack', 'map'], { cwd: folder.path })).stdout.includes(json.packageDigest), stdout);
  const service = await emptyService();
  await service.importZip(await readFile(join(folder.path, json.file)));
  const { headers } = await service.get('/kos/test/map/v1.0');
  assert.equal(headers['kgrid-package-digest'], json.packageDigest);
});

test('what has problems is neither packed nor pushed', async () => {
  await using folder = await temporaryFolder();
  const good = await fromTemplate('javascript', folder.path, 'good');
  const bad = await fromTemplate('javascript', folder.path, 'bad');
  await edit(join(bad, 'deployment.yaml'), 'src/index.js', 'src/main.js');
  const place = 'bad/deployment.yaml:3: src/main.js is not in the package';
  const packed = await kgrid(['pack', 'bad'], { cwd: folder.path });
  assert.equal(packed.code, 1);
  assert.ok(packed.stdout.startsWith(place), packed.stdout);
  assert.deepEqual(
    (await filesIn(folder.path)).filter((file) => file.endsWith('.zip')),
    [],
  );
  const service = await emptyService();
  const pushed = await kgrid(['push', good, 'bad', '--url', service.url], { cwd: folder.path });
  assert.equal(pushed.code, 1);
  assert.match(pushed.stdout, /1 problem: nothing was uploaded/);
  assert.deepEqual((await service.get('/kos')).list, []);
});

test('push brings folders and zips to a secured activator and shows what runs there', async () => {
  await using folder = await temporaryFolder();
  const code = await fromTemplate('javascript', folder.path, 'code');
  const card = await fromTemplate('resource', folder.path, 'card');
  const failing = await fromTemplate('javascript', folder.path, 'failing');
  await edit(join(failing, 'src/index.js'), 'const mean', 'const const mean');
  const zip = join(folder.path, 'card.zip');
  assert.equal((await kgrid(['pack', card, '-o', zip])).code, 0);
  await using service = await startService({
    profile: 'secure',
    env: { KGRID_USER: 'ann', KGRID_PASSWORD: 'secret word' },
    credentials: 'ann:secret word',
  });

  const refused = await kgrid(['push', code, '--url', service.url]);
  assert.equal(refused.code, 3);
  assert.match(refused.stderr, /asks for a login: set KGRID_USER and KGRID_PASSWORD, or KGRID_TOKEN/);
  const wrong = await kgrid(['push', code, '--url', service.url], {
    env: { KGRID_USER: 'ann', KGRID_PASSWORD: 'guess' },
  });
  assert.equal(wrong.code, 3);
  assert.match(wrong.stderr, /refused the login of the user ann: check it \(401 /);
  assert.ok(!(wrong.stdout + wrong.stderr).includes('guess'));

  const env = { KGRID_URL: service.url, MY_PASSWORD: 'secret word' };
  const login = ['--user', 'ann', '--password-env', 'MY_PASSWORD'];
  const pushed = await kgrid(['push', code, zip, failing, '--no-test', ...login], { env });
  assert.equal(pushed.code, 1, pushed.stderr);
  const { url } = service;
  assert.deepEqual(pushed.stdout.split('\n').slice(0, -1), [
    'test/code/v1.0: no problems, 3 worked examples not run',
    'test/card/v1.0: no problems, 1 worked example not run',
    'test/failing/v1.0: no problems, 3 worked examples not run',
    `test/code/v1.0 is on the shelf of ${url}`,
    `test/card/v1.0 is on the shelf of ${url}`,
    `test/failing/v1.0 is on the shelf of ${url}`,
    `  ACTIVATED  POST ${url}/test/code/1.0/calculate`,
    `  ACTIVATED  GET ${url}/test/card/1.0/files`,
    `  FAILED_TO_ACTIVATE  POST ${url}/test/failing/1.0/calculate`,
    `${failing}/src/index.js:24: SyntaxError: Unexpected token 'const'`,
    '2 of 3 endpoints active',
  ]);
  const exported = await service.get('/kos/test/card/v1.0', { accept: 'application/zip' });
  assert.ok(exported.bytes.equals(await readFile(zip)), 'an activator exports what was packed, byte for byte');
});

test('push tries the code and the examples first, and replaces nothing by what fails', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const ko = await fromTemplate('javascript', cwd, 'map');
  const node = await fromTemplate('node', cwd, 'dead');
  await edit(join(node, 'src/index.js'), /^/, 'nothing.here;\n');
  const service = await emptyService();
  const env = { KGRID_URL: service.url };
  const first = await kgrid(['push', 'map'], { cwd, env });
  assert.equal(first.code, 0, first.stdout + first.stderr);
  assert.match(first.stdout, /^test\/map\/v1\.0: no problems, 3 worked examples passed$/m);

  await edit(join(ko, 'src/index.js'), '2 * diastolic', '3 * diastolic');
  const wrong = await kgrid(['push', 'map', 'dead'], { cwd, env });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stdout, /^map\/worked-examples\.yaml:2: "120 over 80 mmHg": .* expected 93\.3, got 120$/m);
  assert.match(wrong.stdout, /^dead\/src\/index\.js:1: .*ReferenceError: nothing is not defined/m);
  assert.match(wrong.stdout, /^3 problems: nothing was uploaded$/m);
  const body = { systolic: 120, diastolic: 80 };
  const { object } = await service.post('/test/map/1.0/calculate', body);
  assert.deepEqual(object['result'], { meanArterialPressure: 93.3, unit: 'mmHg' });
  assert.equal((await service.get('/kos/test/dead/v1.0')).status, 404);

  await edit(join(ko, 'deployment.yaml'), 'engine: javascript', 'engine: julia');
  const untried = await kgrid(['push', 'map', '--any-engine', '--replace'], { cwd, env });
  assert.equal(untried.code, 1);
  const [, summary, , inPlace, status, why, replaced] = untried.stdout.split('\n');
  assert.match(
    summary ?? '',
    /3 worked examples not run \(the code of engine julia was not tried: it is not available/,
  );
  assert.match(inPlace ?? '', /^ {2}in place of another(: sha256:[0-9a-f]{64} → sha256:[0-9a-f]{64})?$/);
  assert.match(status ?? '', /^ {2}FAILED_TO_ACTIVATE {2}POST /);
  assert.equal(
    why,
    `map/deployment.yaml:3: engine julia is not known here; engines: ${ENGINES.map(({ name }) => name).join(', ')}`,
  );
  assert.equal(replaced, '  The package of test/map/v1.0 that was there before has been replaced');
});

interface Pushed {
  replaced: string[];
  unchanged: string[];
}

test('push replaces a version of another content only when it is told to, and the same one not at all', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const ko = await fromTemplate('javascript', cwd, 'map');
  await fromTemplate('resource', cwd, 'card');
  const service = await emptyService();
  const options = { cwd, env: { KGRID_URL: service.url } };
  assert.deepEqual((await kgridJson<Pushed>(['push', 'map', '--no-test'], options)).json.replaced, []);
  const kept = await service.get('/kos/test/map/v1.0', { accept: 'application/zip' });

  const same = await kgrid(['push', 'map', '--no-test'], options);
  assert.equal(same.code, 0);
  assert.match(same.stdout, /^test\/map\/v1\.0 is at http.* already, with the same content: nothing was uploaded$/m);
  assert.match(same.stdout, /^1 of 1 endpoint active$/m);

  await edit(join(ko, 'src/index.js'), '2 * diastolic', '2 * diastolic + 0');
  const refused = await kgrid(['push', 'card', 'map', '--no-test'], { ...options, input: 'y\n' });
  assert.equal(refused.code, 2);
  assert.match(refused.stdout, /has another test\/map\/v1\.0:\n {2}changed {2}src\/index\.js\n$/);
  assert.match(
    refused.stderr,
    /^Nothing was uploaded, since .* has another test\/map\/v1\.0: say --replace .*kgrid diff/,
  );
  const still = await service.get('/kos/test/map/v1.0', { accept: 'application/zip' });
  assert.ok(still.bytes.equals(kept.bytes));
  assert.equal((await service.get('/kos/test/card/v1.0')).status, 404);

  const replaced = await kgridJson<Pushed>(['push', 'card', 'map', '--no-test', '--replace'], options);
  assert.deepEqual([replaced.code, replaced.json.replaced, replaced.json.unchanged], [0, ['test/map/v1.0'], []]);
  const again = await kgridJson<Pushed>(['push', 'card', 'map', '--no-test'], options);
  assert.deepEqual(again.json.unchanged, ['test/card/v1.0', 'test/map/v1.0']);
});

longTest('push asks a person at a terminal', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const ko = await fromTemplate('javascript', cwd, 'map');
  const service = await emptyService();
  const options = { cwd, env: { KGRID_URL: service.url } };
  await kgrid(['push', 'map', '--no-test'], options);
  await edit(join(ko, 'src/index.js'), '2 * diastolic', '2 * diastolic + 0');
  const [no, yes] = [await atTerminal('n', options), await atTerminal('y', options)];
  assert.match(no, /Replace test\/map\/v1\.0 at http.*\? \[y\/N\] [^]*Nothing was uploaded\s+exit 2\s*$/);
  assert.match(yes, /\[y\/N\] [^]*in place of another[^]*1 of 1 endpoint active[^]*exit 0\s*$/);
});

/** What a person sees who answers the question of a push. */
async function atTerminal(answer: string, { cwd, env }: Required<Pick<RunOptions, 'cwd' | 'env'>>): Promise<string> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(
    'python3',
    [join(import.meta.dirname, 'at-terminal.py'), answer, process.execPath, LAUNCHER, 'push', 'map', '--no-test'],
    {
      cwd,
      env: { PATH, HOME, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  return text(child.stdout);
}

/** A runtime of others. */
async function answering(answer: () => unknown): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer()));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

longTest('push uploads what this machine has no runtime for, and says that it was not tried', async () => {
  await using folder = await temporaryFolder();
  await fromTemplate('python', folder.path, 'model');
  await using service = await startService({ args: ['--runtimes', 'python'] });
  const env = { KGRID_URL: service.url, PATH: folder.path };
  const { code, stdout, stderr } = await kgrid(['push', 'model'], { cwd: folder.path, env });
  assert.equal(code, 0, stdout + stderr);
  assert.match(
    stdout,
    /^test\/model\/v1\.0: no problems, 3 worked examples not run \(the code of engine python was not tried: /,
  );
});

longTest('knowledge objects that are called come with --with, and are not uploaded', async () => {
  const [caller, ...called] = ['clopidogrelbygenotype', 'clopidogrel', 'cyp2c19'].map((name) =>
    join(PROJECT, `examples/cpic-${name}-v1.0`),
  );
  const service = await emptyService();
  const pushed = await kgrid(['push', caller ?? '', '--with', ...called, '--url', service.url]);
  assert.equal(pushed.code, 0, pushed.stdout + pushed.stderr);
  assert.equal((await service.get('/kos')).list.length, 1);
});

test('an activator that cannot be reached, or is none, ends with 3', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('javascript', folder.path, 'map');
  const service = await emptyService();
  const none = await answering(() => undefined);
  await none[Symbol.asyncDispose]();
  const [gone, other] = await Promise.all([
    kgrid(['push', ko, '--url', none.url]),
    kgrid(['push', ko, '--url', `${service.url}/elsewhere`]),
  ]);
  assert.equal(gone.code, 3);
  assert.match(gone.stderr, /^Cannot reach the activator at http:\/\/127\.0\.0\.1:\d+: nothing listens there$/m);
  assert.equal(other.code, 3);
  assert.match(other.stderr, /does not take test\/map\/v1\.0: 404 Not Found/);
});
