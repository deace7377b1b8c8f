import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { ScratchFolders } from './scratch-folders.ts';

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
