import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Mirror } from './activate-sources.ts';
import { listPackageFiles } from './package-files.ts';

test('a mirror holds what the folder holds, and copies only what changed', async () => {
  const root = await mkdtemp(join(tmpdir(), 'kgrid-mirror-'));
  try {
    const from = join(root, 'from');
    await mkdir(join(from, 'src'), { recursive: true });
    for (const file of ['kept', 'changed', 'src/removed']) await writeFile(join(from, file), 'first');
    const mirror = new Mirror(join(root, 'to'));
    await mirror.update(from, (await listPackageFiles(from)).files);
    const copied = await stat(join(root, 'to/kept'));
    await writeFile(join(from, 'changed'), 'second one');
    await writeFile(join(from, 'added'), 'new');
    await rm(join(from, 'src'), { recursive: true });
    await mirror.update(from, (await listPackageFiles(from)).files);
    const files = (await readdir(join(root, 'to'), { recursive: true, withFileTypes: true })).filter((e) => e.isFile());
    assert.deepEqual(files.map(({ name }) => name).sort(), ['added', 'changed', 'kept']);
    assert.equal(await readFile(join(root, 'to/changed'), 'utf8'), 'second one');
    assert.equal((await stat(join(root, 'to/kept'))).ctimeMs, copied.ctimeMs);
    await mirror.remove();
    assert.deepEqual(await readdir(root), ['from']);
  } finally {
    await rm(root, { recursive: true });
  }
});
