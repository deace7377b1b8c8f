/** What code of packages left in a folder is counted and copied without being followed, waited for, or overlooked. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { watch } from 'node:fs';
import { link, lstat, mkdir, readFile, readlink, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../../test/conformance/temporary-folder.ts';
import { removeTree } from '../scratch-folders.ts';
import { Trees } from './trees.ts';

const MB = 2 ** 20;
const LIMITS = { bytes: MB, files: 1000 };
const TIMEOUT_MS = 60_000;

/** What becomes of a folder when it is copied. */
async function copied(write: (folder: string) => Promise<unknown>): Promise<string> {
  await using folder = await temporaryFolder();
  await using trees = new Trees(LIMITS, TIMEOUT_MS);
  const from = join(folder.path, 'from');
  await mkdir(join(from, 'node_modules/tiny'), { recursive: true });
  await write(from);
  try {
    await trees.copy(from, join(folder.path, 'to'));
    return 'copied';
  } catch (thrown) {
    return (thrown as Error).message;
  } finally {
    await removeTree(from);
  }
}

/** Deeper than any path may be long, or just deep. */
const nested = (folder: string, steps: number, name: string): void =>
  void execFileSync('sh', ['-c', `for i in $(seq ${steps}); do mkdir ${name}; cd -P ${name}; done; echo deep > file`], {
    cwd: folder,
  });

const IN_TINY = 'node_modules/tiny/x';
const REFUSED: Readonly<Record<string, [write: (folder: string) => Promise<unknown>, problem: string]>> = {
  'a pipe': [
    (folder) => Promise.resolve(execFileSync('mkfifo', [join(folder, 'installed.json')])),
    'Its installation has something that is no file: installed.json',
  ],
  'a socket': [
    async (folder) => {
      const server = createServer().listen(join(folder, IN_TINY));
      await once(server, 'listening');
      server.unref();
    },
    `The package tiny has something that is no file: ${IN_TINY}`,
  ],
  ...Object.fromEntries(
    ['/etc/hostname', '../../../other', '../../../../etc/hostname', 'a/../../b', '..//../../..', './../../../x'].map(
      (target) => [
        `a link to ${target}`,
        [
          (folder: string) => symlink(target, join(folder, IN_TINY)),
          `The package tiny has a link out of the installation: ${IN_TINY}`,
        ],
      ],
    ),
  ),
  'folders deeper than paths are long': [
    (folder) => Promise.resolve(nested(join(folder, 'node_modules/tiny'), 60, 'n'.repeat(100))),
    'The package tiny has folders that are nested too deeply',
  ],
  'many folders in each other': [
    (folder) => Promise.resolve(nested(join(folder, 'node_modules/tiny'), 200, 'n')),
    'The package tiny has folders that are nested too deeply',
  ],
  'many files': [
    (folder) => Promise.all(Array.from({ length: 1000 }, (_, each) => writeFile(join(folder, String(each)), ''))),
    'Its packages have more than 1000 files',
  ],
  much: [(folder) => writeFile(join(folder, IN_TINY), Buffer.alloc(MB + 1)), 'Its packages are larger than 1 MB'],
  'a file with a hole': [
    async (folder) => {
      await writeFile(join(folder, IN_TINY), '');
      await truncate(join(folder, IN_TINY), 100 * MB);
    },
    'Its packages are larger than 1 MB',
  ],
  'one file under many names': [
    async (folder) => {
      await writeFile(join(folder, 'one'), Buffer.alloc(MB / 2));
      await link(join(folder, 'one'), join(folder, 'two'));
      await link(join(folder, 'one'), join(folder, 'three'));
    },
    'Its packages are larger than 1 MB',
  ],
  'a name that is no text': [
    (folder) => writeFile(Buffer.concat([Buffer.from(join(folder, 'node_modules/tiny/')), Buffer.from([0xff])]), ''),
    'The package tiny has a file whose name is no text',
  ],
};

for (const [what, [write, problem]] of Object.entries(REFUSED))
  test(`it is refused, with the name of its package: ${what}`, async () => assert.equal(await copied(write), problem));

test('files, folders and links that stay inside are copied, and nothing else of them than their bytes', async () => {
  await using folder = await temporaryFolder();
  await using trees = new Trees(LIMITS, TIMEOUT_MS);
  const [from, to] = ['from', 'to'].map((name) => join(folder.path, name)) as [string, string];
  await folder.add({ 'from/node_modules/@a/b/cli.js': '#!/usr/bin/env node', 'from/node_modules/.bin/.keep': '' });
  execFileSync('chmod', ['6755', join(from, 'node_modules/@a/b/cli.js')]);
  await symlink('../@a/b/cli.js', join(from, 'node_modules/.bin/b'));
  await symlink('./@a/b', join(from, 'node_modules/b'));
  await trees.copy(from, to);
  assert.equal(await readFile(join(to, 'node_modules/.bin/b'), 'utf8'), '#!/usr/bin/env node');
  assert.equal(await readlink(join(to, 'node_modules/b')), './@a/b');
  assert.equal((await lstat(join(to, 'node_modules/@a/b/cli.js'))).mode & 0o7111, 0o111);
});

test('what is written is counted meanwhile, wherever it lies', async () => {
  await using folder = await temporaryFolder();
  await using trees = new Trees(LIMITS, TIMEOUT_MS);
  const { promise, resolve } = Promise.withResolvers<string>();
  const watching = trees.watch(folder.path, resolve);
  await symlink('/usr', join(folder.path, 'link'));
  execFileSync('mkfifo', [join(folder.path, 'pipe')]);
  await writeFile(join(folder.path, 'file'), Buffer.alloc(MB));
  await writeFile(join(folder.path, 'more'), Buffer.alloc(MB));
  assert.equal(await promise, 'Its packages are larger than 1 MB');
  await watching.stop();
});

test('a copy that goes on is ended with what started it', async () => {
  await using folder = await temporaryFolder();
  const from = join(folder.path, 'from');
  await mkdir(from);
  await writeFile(join(from, 'holes'), '');
  await truncate(join(from, 'holes'), 2 ** 42);
  const trees = new Trees({ bytes: 2 ** 43, files: 10 }, TIMEOUT_MS);
  const copying = assert.rejects(trees.copy(from, join(folder.path, 'to')), /the thread ended/);
  const watcher = watch(folder.path);
  await once(watcher, 'change');
  watcher.close();
  await trees[Symbol.asyncDispose]();
  await copying;
});
