import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { removeTree, ScratchFolders } from './scratch-folders.ts';

const MB = 2 ** 20;
const policy = { scratchBytes: 2 * MB, scratchFiles: 10 };

async function problemsOf(scratch: ScratchFolders): Promise<[pid: number, problem: string][]> {
  const found: [number, string][] = [];
  await scratch.check((pid, problem) => found.push([pid, problem]));
  return found;
}

test('a worker that wrote more files, or more bytes, than it may is told of, wherever they lie', async () => {
  await using folder = await temporaryFolder();
  const scratch = new ScratchFolders(folder.path, policy);
  const [good, many, large] = [scratch.make(), scratch.make(), scratch.make()];
  [good, many, large].forEach((each, pid) => scratch.belongsTo(each, pid));
  for (let i = 0; i < 10; i++) await writeFile(join(good, String(i)), 'x');
  // It takes no place on the disk.
  await truncate(join(good, '0'), 100 * MB);
  await mkdir(join(many, 'below'));
  for (let i = 0; i < 10; i++) await writeFile(join(many, 'below', String(i)), '');
  await writeFile(join(large, 'file'), Buffer.alloc(3 * MB, 1));
  assert.deepEqual(await problemsOf(scratch), [
    [1, 'The knowledge object wrote more than 10 temporary files'],
    [2, 'The knowledge object wrote more than 2 MB of temporary files'],
  ]);
});

const NOBODY = 65_534;

/** By a user whom the modes of folders hold back, as they do not hold back root. */
async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

/** A file in folders so deep that no path names it. */
function hideDeep(folder: string): void {
  const home = process.cwd();
  process.chdir(folder);
  for (let depth = 0; depth < 30; depth++) {
    mkdirSync('d'.repeat(200));
    process.chdir('d'.repeat(200));
  }
  writeFileSync('large', Buffer.alloc(3 * MB, 1));
  process.chdir(home);
}

/** A file in a folder whose content its owner may not list. */
async function hideUnlisted(folder: string): Promise<void> {
  await mkdir(join(folder, 'closed'), { mode: 0o300 });
  await writeFile(join(folder, 'closed', 'large'), Buffer.alloc(3 * MB, 1));
}

test('what nobody could count is told of too, and is removed all the same', async () => {
  await using folder = await temporaryFolder();
  await chmod(folder.path, 0o777);
  await asOrdinaryUser(async () => {
    const scratch = new ScratchFolders(folder.path, { ...policy, scratchFiles: 100 });
    const [deep, unlisted, old] = [scratch.make(), scratch.make(), join(folder.path, 'old')];
    [deep, unlisted].forEach((each, pid) => scratch.belongsTo(each, pid));
    await mkdir(old);
    for (const each of [deep, old]) hideDeep(each);
    await hideUnlisted(unlisted);
    const problems = await problemsOf(scratch);
    for (const each of [deep, unlisted, old]) await removeTree(each);
    assert.deepEqual(await readdir(folder.path), []);
    const reason = 'The knowledge object made temporary files that cannot be counted';
    assert.deepEqual(problems, [
      [0, `${reason}: ENAMETOOLONG`],
      [1, `${reason}: EACCES`],
    ]);
  });
});

test('what processes left that were killed is removed, and nothing of those that live', async () => {
  await using folder = await temporaryFolder();
  const scratch = new ScratchFolders(folder.path, policy);
  const name = scratch.make();
  const of = (pid: number): string => name.replace(`-${process.pid}-`, `-${pid}-`);
  const others = [join(folder.path, 'other'), of(process.ppid), of(2 ** 22 + 1)];
  for (const each of others) await mkdir(each);
  await scratch.clear();
  assert.deepEqual(others.map(existsSync), [true, true, false]);
});

test('many files count together', async () => {
  await using folder = await temporaryFolder();
  const scratch = new ScratchFolders(folder.path, { ...policy, scratchFiles: 1000 });
  const full = scratch.make();
  scratch.belongsTo(full, 1);
  for (let i = 0; i < 600; i++) await writeFile(join(full, String(i)), 'x'.repeat(4096));
  assert.deepEqual(await problemsOf(scratch), [[1, 'The knowledge object wrote more than 2 MB of temporary files']]);
});

test('folders that take long to look at are looked at less often', async () => {
  await using folder = await temporaryFolder();
  let now = 0;
  const scratch = new ScratchFolders(folder.path, { ...policy, scratchFiles: 0 }, () => now);
  const full = scratch.make();
  scratch.belongsTo(full, 1);
  await writeFile(join(full, 'file'), '');
  let looks = 0;
  const look = (): Promise<void> =>
    scratch.check(() => {
      looks++;
      now += 100;
    });
  await look();
  now = 499;
  await look();
  assert.equal(looks, 1);
  now = 500;
  await look();
  assert.equal(looks, 2);
});
