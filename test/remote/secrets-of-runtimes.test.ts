/** What code in a runtime can find out of its neighbours, and what a secret would be good for. */
import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { jsonBody, sender } from '../acceptance/support/client.ts';
import type { Send } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { costOf } from '../acceptance/support/process-tree.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { RecordedNodeRuntime } from './support/recorded-node-runtime.ts';
import { remoteKo } from './support/remote-ko.ts';
import { until } from './support/until.ts';

const naan = uniqueNaan();
const PASSWORD = 'the-password-of-ann';
const NPM_TOKEN = 'the-token-of-the-registry';

const READS_ALL = `
import glob
def run(_):
    found = []
    for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):
        try:
            found.append(path + ' ' + open(path, 'rb').read().replace(b'\\0', b' ').decode('utf-8', 'replace'))
        except OSError:
            pass
    return found
`;

test('a python KO that reads the environment and command line of every process finds no secret', async () => {
  await using home = await temporaryFolder();
  const shelf = join(home.path, 'shelf');
  const passwordFile = join(home.path, 'password');
  await mkdir(shelf);
  await writeFile(passwordFile, `${PASSWORD}\n`);
  for (const path of [home.path, shelf]) await chmod(path, 0o777);
  await using service = await startService({
    shelf,
    profile: 'secure',
    credentials: `ann:${PASSWORD}`,
    args: ['--runtimes', 'node,python'],
    env: {
      HOME: home.path,
      KGRID_USER: 'ann',
      KGRID_PASSWORD_FILE: passwordFile,
      NPM_TOKEN,
      PIP_INDEX_URL: `http://me:${NPM_TOKEN}@index.test/`,
    },
    // Of root's processes, one without privileges may read nothing anyway.
    unprivileged: true,
  });
  const reads = remoteKo({ naan, name: 'reads', engine: 'python', code: { 'src/main.py': READS_ALL } });
  const node = remoteKo({ naan, name: 'node', engine: 'node', code: { 'src/index.js': 'exports.run = () => 1;' } });
  const js = javascriptKo('function run() { return 1; }', { naan, name: 'js' });
  await service.serve(reads, node, js);
  for (const ko of [node, js]) assert.equal((await service.post(pathOf(ko), 1)).object['result'], 1);
  const answer = await service.post(pathOf(reads), 1);
  const found = answer.object['result'] as string[];
  assert.ok(
    found.some((text) => text.includes('KGRID_PASSWORD_FILE=')),
    'it reads that of the service',
  );
  const { pids } = (await costOf(service.pid)).tree;
  const ours = found.filter((text) => pids.includes(Number(text.split('/')[2])));
  const started = ours.filter((text) => !text.startsWith(`/proc/${service.pid}/`));
  assert.ok(started.length >= 5, 'sandbox, runtime and workers');
  for (const text of ours) assert.ok(!text.includes(PASSWORD), text);
  for (const text of started) {
    assert.ok(!text.includes(NPM_TOKEN), text);
    // As long as the secret of a start, and no digest.
    assert.doesNotMatch(text.replace(/[0-9a-f]{40,}|scratch-[\w-]+/g, ''), /SECRET|\b[\w-]{43}\b/i);
  }
});

/** Stands in for Python, and writes down what it is told. */
const TELLS_ALL = `#!/bin/sh
[ "$1" = -c ] && exit 0
read -r line
echo "$line" > "$HOME/line.part"
env > "$HOME/environment"
mv "$HOME/line.part" "$HOME/line"
exec cat
`;

test('the secret of a runtime counts at the private address only, and stands in no environment', async () => {
  await using home = await temporaryFolder();
  const bin = join(home.path, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'python3'), TELLS_ALL, { mode: 0o755 });
  await using service = await startService({
    profile: 'secure',
    args: ['--runtimes', 'python', '--secure-execution'],
    env: {
      HOME: home.path,
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      KGRID_USER: 'ann',
      KGRID_PASSWORD: PASSWORD,
      SPRING_SECURITY_USER_PASSWORD: 'of-the-alias',
      NPM_TOKEN,
      AWS_SECRET_ACCESS_KEY: 'of-the-cloud',
    },
    credentials: `ann:${PASSWORD}`,
  });
  const line = await until('it was told', () => readFile(join(home.path, 'line'), 'utf8').catch(() => undefined));
  const { secret, installer } = JSON.parse(line) as { secret: string; installer: Record<string, string> };
  assert.match(secret, /^[\w-]{43}$/);
  assert.equal(installer['NPM_TOKEN'], NPM_TOKEN);
  const environment = await readFile(join(home.path, 'environment'), 'utf8');
  for (const hidden of [secret, PASSWORD, NPM_TOKEN, 'of-the-cloud', 'of-the-alias']) {
    assert.ok(!environment.includes(hidden), hidden);
    if (hidden !== secret && hidden !== NPM_TOKEN) assert.ok(!line.includes(hidden), hidden);
  }

  const js = javascriptKo('function run() { return 1; }', { naan, name: 'closed' });
  await service.serve(js);
  const proof = { 'x-kgrid-runtime-secret': secret, 'content-type': 'application/json' };
  const registration = {
    ...jsonBody({ engine: 'node', url: 'http://127.0.0.1:1', forceUpdate: false }),
    headers: proof,
  };
  const call = { headers: proof, body: '1' };
  const outside = sender(service.url);
  assert.equal((await outside('POST', '/proxy/environments', registration)).status, 401);
  assert.equal((await outside('POST', pathOf(js), call)).status, 401);
  const address = /^KGRID_PROXY_ADAPTER_URL=(.*)$/m.exec(environment)?.[1] ?? assert.fail(environment);
  const inside = sender(address);
  assert.equal((await inside('POST', pathOf(js), call)).object['result'], 1);
  assert.equal((await inside('POST', '/proxy/environments', registration)).object['status'], 'new');
  assert.equal(
    (await inside('POST', pathOf(js), { ...call, headers: { ...proof, 'x-kgrid-runtime-secret': 'x' } })).status,
    403,
  );
});

test('in dev, the secret makes nobody at the public address a runtime of the service', async () => {
  await using home = await temporaryFolder();
  const bin = join(home.path, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'python3'), TELLS_ALL, { mode: 0o755 });
  await using service = await startService({
    args: ['--runtimes', 'python'],
    env: { HOME: home.path, PATH: `${bin}:${process.env['PATH'] ?? ''}` },
  });
  const line = await until('it was told', () => readFile(join(home.path, 'line'), 'utf8').catch(() => undefined));
  const { secret } = JSON.parse(line) as { secret: string };
  const ko = remoteKo({ naan, name: 'dev', engine: 'pretends', code: { 'src/index.txt': '' } });
  await service.serve(ko);
  const send: Send = (method, path, sent = {}) =>
    service.send(method, path, { ...sent, headers: { ...sent.headers, 'x-kgrid-runtime-secret': secret } });
  await using runtime = await RecordedNodeRuntime.start({ url: service.url, send }, 'pretends');
  await until('it is active', () => (runtime.activations.length > 0 ? true : undefined));
  await service.reload(ko);
  assert.equal((await service.post(pathOf(ko), 5)).object['result'], 5);
  for (const { headers } of runtime.calls) assert.ok(!('x-kgrid-runtime-secret' in headers));
});
