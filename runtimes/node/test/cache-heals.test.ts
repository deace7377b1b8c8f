import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { inRound } from '../../../test/support/round.ts';
import { TestActivator } from './activator.ts';
import { TestRegistry } from './registry.ts';
import { stop, temporaryFolder, TestRuntime, type Activation } from './runtime.ts';

const uri = 'healed/ko/1.0/run';
const ko: Activation = {
  uri,
  ko: 'healed/ko/v1',
  checksum: 'abc',
  files: {
    'src/index.js': "module.exports = () => require('./words/word.js') + require('tiny');",
    'src/words/word.js': "module.exports = 'whole ';",
    'package.json': JSON.stringify({ dependencies: { tiny: '1.0.0' } }),
  },
};

/** What may have happened to the cache folder, by the crash of a machine or by code that may write there. */
const damages: Readonly<Record<string, (cacheDir: string) => Promise<void>>> = {
  'a file beside the program': async (cacheDir) => writeFile(join(await programOf(cacheDir), 'more'), ''),
  'a changed program': async (cacheDir) =>
    writeFile(join(await programOf(cacheDir), 'describe.mjs'), 'export const describe = () => "changed";'),
  'a program that is a link': async (cacheDir) => {
    const file = join(await programOf(cacheDir), 'load.mjs');
    const text = await readFile(file);
    await rm(file);
    await writeFile(join(cacheDir, 'load.mjs'), text);
    await symlink(join(cacheDir, 'load.mjs'), file);
  },
  'a file in place of the program': async (cacheDir) => replace(await programOf(cacheDir)),
  'a changed artifact': async (cacheDir) =>
    writeFile(join(await packageOf(cacheDir), 'src/index.js'), 'module.exports = () => "changed"'),
  'an empty artifact': async (cacheDir) => writeFile(join(await packageOf(cacheDir), 'src/words/word.js'), ''),
  'a folder in place of an artifact': async (cacheDir) => {
    const file = join(await packageOf(cacheDir), 'src/index.js');
    await rm(file);
    await mkdir(join(file, 'below'), { recursive: true });
  },
  'a file in place of a folder of artifacts': async (cacheDir) => replace(join(await packageOf(cacheDir), 'src/words')),
  'a file in place of all artifacts': async (cacheDir) => replace(dirname(await packageOf(cacheDir))),
  'a file in place of the installed packages': async (cacheDir) => replace(await only(join(cacheDir, 'installs'))),
  'a file in place of the objects': async (cacheDir) => replace(join(cacheDir, 'objects')),
  'a folder in place of the link to the packages': async (cacheDir) => {
    const link = join(await packageOf(cacheDir), '../node_modules');
    await rm(link);
    await mkdir(join(link, 'tiny'), { recursive: true });
  },
  'installed packages that are not there': async (cacheDir) => {
    const folder = await only(join(cacheDir, 'installs'));
    await rm(folder, { recursive: true });
    await mkdir(folder);
  },
};

/** One of each kind: each costs a start. */
const IN_EVERY_RUN: readonly string[] = [
  'a changed program',
  'a program that is a link',
  'a changed artifact',
  'a file in place of all artifacts',
  'installed packages that are not there',
];
const found = Object.entries(damages);
const tried = inRound(
  found.filter(([name]) => IN_EVERY_RUN.includes(name)),
  found,
);

describe('the cache folder of the node runtime', () => {
  let activator: TestActivator;
  let registry: TestRegistry;
  let whole: string;
  before(async () => {
    activator = await TestActivator.start();
    registry = await TestRegistry.start();
    await registry.publish('tiny', '1.0.0', "module.exports = 'tiny';");
    whole = await temporaryFolder();
    await stop(await seenWorking(whole));
  });
  after(async () => {
    await registry[Symbol.asyncDispose]();
    await activator[Symbol.asyncDispose]();
    await rm(whole, { recursive: true });
  });

  for (const [name, damage] of tried) {
    it(`is repaired by a start after ${name}`, async () => {
      const cacheDir = await temporaryFolder();
      try {
        await cp(whole, cacheDir, { recursive: true, verbatimSymlinks: true });
        await damage(cacheDir);
        const runtime = await seenWorking(cacheDir);
        activator.requests.length = registry.requests.length = 0;
        const again = await runtime.activate(ko);
        await stop(runtime);
        assert.equal(again.status, 200);
        assert.deepEqual([activator.fetched, registry.requests], [[], []], 'it was repaired for good');
        assert.deepEqual(await readdir(join(cacheDir, 'staging')), []);
      } finally {
        await rm(cacheDir, { recursive: true, force: true });
      }
    });
  }

  /** Starts a runtime, and sees the KO work there. */
  async function seenWorking(cacheDir: string): Promise<TestRuntime> {
    const runtime = await TestRuntime.start(activator, { ...registry.settings, KGRID_NODE_CACHE_DIR: cacheDir });
    try {
      const { status, body } = await runtime.activate(ko);
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual((await runtime.post(uri, {})).body, { result: 'whole tiny' });
      return runtime;
    } catch (error) {
      await stop(runtime);
      throw error;
    }
  }
});

async function replace(folder: string): Promise<void> {
  await rm(folder, { recursive: true });
  await writeFile(folder, 'not what belongs here');
}

async function programOf(cacheDir: string): Promise<string> {
  const name = (await readdir(cacheDir)).find((each) => each.startsWith('program-'));
  return join(cacheDir, name ?? assert.fail('there is no program'));
}

const packageOf = async (cacheDir: string): Promise<string> => join(await only(join(cacheDir, 'objects')), 'package');

async function only(folder: string): Promise<string> {
  const [first, ...more] = await readdir(folder);
  assert.ok(first !== undefined && more.length === 0);
  return join(folder, first);
}
