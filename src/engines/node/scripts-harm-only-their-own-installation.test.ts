/** Install scripts that the operator allowed meet an installer that neither follows, nor waits for, nor shares what they leave. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { TestRegistry } from '../../../runtimes/node/test/registry.ts';
import { EngineHost } from '../../../test/conformance/engine-host.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { managedWorkers } from '../../../test/conformance/workers-host.ts';
import { inRound } from '../../../test/support/round.ts';
import { findKernel } from '../../confinement/find-kernel.ts';
import { Cache } from '../supervisor/packages/cache.ts';
import { Installs } from './installs.ts';
import { Npm } from './npm.ts';

const registry = await TestRegistry.start();
after(() => registry[Symbol.asyncDispose]());
const folder = await temporaryFolder();
after(() => folder[Symbol.asyncDispose]());
const other = join(folder.path, 'other');
await writeFile(other, 'of somebody else');
const kernel = await findKernel('require');

const ENTRY = { 'src/index.js': "module.exports = () => require('scripted');" };

/** Runs in the folder of the package, two folders below that of the installation. */
async function publish(version: string, install: string): Promise<void> {
  await registry.publish('scripted', version, `module.exports = ${JSON.stringify(version)};`, { scripts: { install } });
}

async function start(): Promise<EngineHost> {
  const environment = { PATH: process.env['PATH'], HOME: folder.path, ...registry.settings };
  const cache = join(folder.path, 'cache');
  const sourceBuilds = ['scripts/allowed', 'scripts/also'];
  return new EngineHost(await managedWorkers('node', { cache, kernel, environment, sourceBuilds }));
}

async function resultOf(host: EngineHost, name: string, version: string): Promise<unknown> {
  const files = { ...ENTRY, 'package.json': JSON.stringify({ dependencies: { scripted: version } }) };
  const id = `scripts/${name}/1.0/run`;
  try {
    await host.activateAs(id, { files, function: '' });
  } catch (thrown) {
    return (thrown as Error).message;
  }
  return host.callFromJavascript(id, null);
}

const LEFT: Readonly<Record<string, [script: string, expected: RegExp]>> = {
  '1.0.1': ['mkfifo ../../installed.json', /^Its installation has something that is no file: installed\.json$/],
  '1.0.2': [`ln -s ${other} ../../installed.json`, /^Its installation has a link out of the installation: installed/],
  '1.0.3': [`rm ../.package-lock.json; mkfifo ../.package-lock.json`, /has something that is no file/],
  '1.0.4': ['mkfifo index.pipe', /^The package scripted has something that is no file: /],
  '1.0.5': [`rm -r ../../package.json; ln -s ${folder.path} ../../package.json`, /has a link out of the installation/],
};

test('what scripts leave in place of files is refused, and nothing is written there', async () => {
  await using host = await start();
  // Each costs an installation; all are the same to what copies.
  const tried = Object.entries(LEFT).slice(0, inRound(2, Infinity));
  for (const [version, [script, expected]] of tried) {
    await publish(version, script);
    assert.match(String(await resultOf(host, 'allowed', version)), expected, script);
  }
  assert.equal(await readFile(other, 'utf8'), 'of somebody else');
  await publish('1.1.0', 'true');
  assert.equal(await resultOf(host, 'allowed', '1.1.0'), '1.1.0', 'places for installations are free');
  assert.deepEqual(
    (await readdir(join(folder.path, 'cache/node/staging'))).filter((name) => !name.startsWith('scratch')),
    [],
  );
});

test('nothing goes on before all that scripts started has ended', async () => {
  const late = 'trap "" TERM HUP; (trap "" TERM HUP; while :; do echo late >> late.txt; done) & sleep 0.1';
  await publish('1.2.0', late);
  await using host = await start();
  assert.equal(await resultOf(host, 'allowed', '1.2.0'), '1.2.0');
  const processes = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
  assert.doesNotMatch(processes, /late\.txt/);
});

test('a knowledge object whose scripts run shares neither packages nor a cache with others', async () => {
  // The script looks for caches that it could write to.
  await publish(
    '1.3.0',
    `touch ../../../../../npm/_cacache/poisoned ${folder.path}/cache/node/npm/_cacache/poisoned || true`,
  );
  await using host = await start();
  await resultOf(host, 'plain', '1.3.0');
  const cached = (): Promise<string[]> => readdir(join(folder.path, 'cache/node/npm/_cacache'));
  const before = await cached();
  registry.requests.length = 0;
  assert.equal(await resultOf(host, 'allowed', '1.3.0'), '1.3.0');
  assert.ok(
    registry.requests.some((path) => path.includes('1.3.0')),
    'it is fetched again',
  );
  assert.deepEqual(await cached(), before);
  const installs = (): Promise<string[]> => readdir(join(folder.path, 'cache/node/installs'));
  const { length } = await installs();
  assert.equal(await resultOf(host, 'also', '1.3.0'), '1.3.0');
  assert.equal((await installs()).length, length + 1);
});

test('an installation is ended where it takes more of the disk than it may', async () => {
  const environment = { PATH: process.env['PATH'] ?? '', HOME: folder.path, ...registry.settings };
  const cache = await Cache.open(join(folder.path, 'limited'));
  const npm = new Npm(
    { installerEnvironment: environment, installTimeoutMs: 60_000, kernel },
    join(cache.folder, 'npm'),
    () => Promise.resolve(),
  );
  const installs = new Installs(cache, { npm, timeout: 60_000, limits: { bytes: 20 * 2 ** 20, files: 1000 } });
  const provide = async (version: string, script: string): Promise<unknown> => {
    await publish(version, script);
    const root = join(cache.object(version), 'package');
    await mkdir(root, { recursive: true });
    await writeFile(join(root, 'package.json'), JSON.stringify({ dependencies: { scripted: version } }));
    const wanted = {
      ko: 'scripts/limited/v1',
      objectKey: version,
      packageJson: 'package.json',
      builds: true,
      permission: '',
    };
    return installs.provide(wanted, () => undefined);
  };
  const endless = 'while :; do head -c 1000000 /dev/zero >> zeros; done';
  await assert.rejects(provide('2.0.0', endless), { message: 'Its packages are larger than 20 MB' });
  const deep = `for i in $(seq 60); do mkdir ${'n'.repeat(100)}; cd -P ${'n'.repeat(100)}; done; ${endless}`;
  await assert.rejects(provide('2.0.1', deep), { message: /nested too deeply|larger than 20 MB/ });
  await assert.rejects(provide('2.0.2', 'for i in $(seq 2000); do : > $i; done'), {
    message: 'Its packages have more than 1000 files',
  });
  assert.deepEqual(await readdir(join(cache.folder, 'staging')), []);
});
