import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { inRound } from '../../../test/support/round.ts';
import { TestActivator } from './activator.ts';
import { TestRegistry } from './registry.ts';
import { stop, temporaryFolder, TestRuntime, type Activation } from './runtime.ts';

const needs = (version: string, more: Record<string, string> = {}): Record<string, string> => ({
  'package.json': JSON.stringify({ dependencies: { tiny: version } }),
  'src/index.js': "module.exports = () => require('tiny');",
  ...more,
});

describe('packages that knowledge objects depend on', () => {
  let activator: TestActivator;
  let registry: TestRegistry;
  let runtime: TestRuntime;
  before(async () => {
    activator = await TestActivator.start();
    registry = await TestRegistry.start();
    await registry.publish('tiny', '1.0.0', 'module.exports = "tiny 1.0.0";');
    await registry.publish('tiny', '1.1.0', 'module.exports = "tiny 1.1.0";');
    await registry.publish('tiny', '2.0.0', 'module.exports = "tiny 2.0.0";');
    const scripts = {
      scripts: { install: "node -e \"require('fs').writeFileSync('index.js', 'module.exports = 1')\"" },
    };
    await registry.publish('scripted', '1.0.0', 'module.exports = "no script ran";', scripts);
    runtime = await TestRuntime.start(activator, { ...registry.settings, KGRID_NODE_ACTIVATION_WAIT: '0.2' });
  });
  after(async () => {
    await runtime[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    await activator[Symbol.asyncDispose]();
  });

  const resultOf = async (name: string, files: Activation['files'], on = runtime): Promise<unknown> => {
    const uri = `deps/${name}/1.0/run`;
    const { status, body } = await on.activate({ uri, ko: `deps/${name}/v1`, files });
    if (status !== 200) return body['description'];
    return (await on.post(uri, {})).body['result'];
  };

  it('are installed for each knowledge object at the version that it asks for', async () => {
    const results = await Promise.all([resultOf('one', needs('^1.0.0')), resultOf('two', needs('2.0.0'))]);
    assert.deepEqual(results, ['tiny 1.1.0', 'tiny 2.0.0']);
  });

  it('are those of the lock file where there is one', async () => {
    const files = needs('*', { 'package-lock.json': registry.lock('tiny', '1.0.0') });
    assert.equal(await resultOf('locked', files), 'tiny 1.0.0');
  });

  it('are found by the package.json that is nearest to the entry, and by ES modules', async () => {
    const files = {
      'package.json': JSON.stringify({ dependencies: { tiny: '2.0.0' } }),
      'src/package.json': JSON.stringify({ type: 'module', dependencies: { tiny: '1.0.0' } }),
      'src/index.js': "import tiny from 'tiny'; export const run = () => tiny;",
    };
    assert.equal(await resultOf('nearest', files), 'tiny 1.0.0');
  });

  it('may be among the artifacts', async () => {
    const files = needs('1.0.0', { 'node_modules/tiny/index.js': 'module.exports = "bundled";' });
    assert.equal(await resultOf('bundled', files), 'bundled');
    const own = {
      'package.json': JSON.stringify({ dependencies: { own: 'file:./own' } }),
      'own/package.json': JSON.stringify({ name: 'own', version: '1.0.0' }),
      'own/index.js': 'module.exports = "own file";',
      'src/index.js': "module.exports = () => require('own');",
    };
    assert.equal(await resultOf('own', own), 'own file');
  });

  it('run no scripts of theirs', async () => {
    const files = {
      'package.json': JSON.stringify({ dependencies: { scripted: '1.0.0' }, scripts: { install: 'exit 1' } }),
      'src/index.js': "module.exports = () => require('scripted');",
    };
    assert.equal(await resultOf('scripted', files), 'no script ran');
  });

  it('run their scripts where that is permitted, once all is fetched and without what may hold credentials', async () => {
    const tell = `node -p "'module.exports = ' + JSON.stringify(process.env)" > index.js`;
    await registry.publish('builds', '1.0.0', '', { scripts: { install: tell } });
    await registry.publish('builds', '1.0.1', '', { scripts: { postinstall: 'exit 7' } });
    const settings = {
      ...registry.settings,
      ...{ KGRID_NODE_ALLOW_INSTALL_SCRIPTS: 'true', KGRID_NODE_ACTIVATION_WAIT: '0.2' },
      ...{
        'npm_config_//127.0.0.1/:_authToken': 'secret token',
        HTTPS_PROXY: 'http://me:secret@127.0.0.1:1/',
        NO_PROXY: '127.0.0.1',
      },
    };
    await using permitted = await TestRuntime.start(activator, settings);
    const files = (version: string): Activation['files'] => ({
      'package.json': JSON.stringify({ dependencies: { builds: version }, scripts: { install: 'exit 1' } }),
      'src/index.js': "module.exports = () => require('builds');",
    });
    const seen = (await resultOf('builds', files('1.0.0'), permitted)) as Record<string, string>;
    assert.equal(typeof seen['PATH'], 'string', JSON.stringify(seen));
    assert.doesNotMatch(JSON.stringify(seen), /secret/);
    if (inRound(false, true))
      assert.match(
        String(await resultOf('fails', files('1.0.1'), permitted)),
        /^Installing packages failed: .*code 7/s,
      );
  });

  it('fail with the last lines of the installer', async () => {
    const missing = String(await resultOf('missing', needs('^9.0.0')));
    assert.match(
      missing,
      /^Installing packages failed: code ETARGET\n[^]*No matching version found for tiny@\^9\.0\.0/,
    );
    assert.ok(!missing.includes(runtime.cacheDir), missing);
    const absent = String(
      await resultOf('absent', needs('1', { 'package.json': '{"dependencies": {"absent": "1"}}' })),
    );
    assert.match(absent, /^Installing packages failed: code E404\n404 Not Found - GET … - /);
    for (const secret of [new URL(registry.url).host, runtime.cacheDir]) assert.ok(!absent.includes(secret), absent);
    assert.match(
      String(await resultOf('broken', needs('1', { 'package.json': '{' }))),
      /^package\.json is not valid JSON: /,
    );
  });

  it('can be fetched ahead', async () => {
    const { status, body } = await runtime.post('dependencies', { tiny: '1.0.0' });
    assert.equal(status, 200);
    assert.deepEqual(body['dependencies'], { tiny: '1.0.0' });
    assert.equal((await runtime.post('dependencies', { tiny: '9.0.0' })).status, 500);
    assert.equal((await runtime.post('dependencies', ['tiny'])).status, 400);
  });

  it('take a clear reason where there is no npm', async () => {
    await using poor = await TestRuntime.start(activator, { PATH: '/nonexistent' });
    const reason = 'It depends on packages, and no npm was found on the PATH of the runtime to install them';
    assert.equal(await resultOf('poor', needs('1.0.0'), poor), reason);
    assert.equal(await resultOf('free', { 'src/index.js': 'module.exports = () => "runs";' }, poor), 'runs');
  });
});

describe('the cache folder', () => {
  const files = needs('2.0.0');
  const uri = 'cached/ko/1.0/run';

  it('makes a second start work without artifacts and without registry', async () => {
    await using activator = await TestActivator.start();
    await using registry = await TestRegistry.start();
    await registry.publish('tiny', '2.0.0', 'module.exports = "tiny";');
    const cacheDir = await temporaryFolder();
    const settings = { ...registry.settings, KGRID_NODE_CACHE_DIR: cacheDir };
    for (const first of [true, false]) {
      activator.requests.length = registry.requests.length = 0;
      const runtime = await TestRuntime.start(activator, settings);
      const { status } = await runtime.activate({ uri, files, checksum: 'abc' });
      assert.equal(status, 200);
      assert.equal((await runtime.post(uri, {})).body['result'], 'tiny');
      await stop(runtime);
      assert.equal(activator.fetched.length, first ? 2 : 0);
      assert.equal(registry.requests.length > 0, first);
    }
    await rm(cacheDir, { recursive: true });
  });

  it('is passed by where the checksum is another, unless it was told to load from it', async () => {
    await using activator = await TestActivator.start();
    const cacheDir = await temporaryFolder();
    const version = (text: string): Activation['files'] => ({ 'src/index.js': `module.exports = () => '${text}';` });
    const starts = [
      { fromCache: 'false', activations: [['1', 'one', 'one'] as const] },
      { fromCache: 'false', activations: [['2', 'two', 'two'] as const] },
      { fromCache: 'true', activations: [['3', 'three', 'two'] as const] },
      {
        fromCache: 'false',
        activations: [[undefined, 'four', 'four'] as const, [undefined, 'five', 'five'] as const],
      },
    ];
    for (const { fromCache, activations } of starts) {
      const runtime = await TestRuntime.start(activator, {
        KGRID_NODE_CACHE_DIR: cacheDir,
        KGRID_NODE_LOAD_FROM_CACHE: fromCache,
      });
      for (const [checksum, text, expected] of activations) {
        await runtime.activate({ uri, files: version(text), ...(checksum && { checksum }) });
        assert.equal((await runtime.post(uri, {})).body['result'], expected);
      }
      await stop(runtime);
    }
    await rm(cacheDir, { recursive: true });
  });

  it('must be a folder that can be written', async () => {
    await using activator = await TestActivator.start();
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'file'), '');
    const settings = { KGRID_NODE_CACHE_DIR: join(folder, 'file') };
    await assert.rejects(TestRuntime.start(activator, settings), /ended before it listened/);
    await rm(folder, { recursive: true });
  });
});
