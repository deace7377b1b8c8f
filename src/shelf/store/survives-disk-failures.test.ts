import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { promisify } from 'node:util';
import {
  contentOn,
  failsWith,
  filesOf,
  koId,
  metadataOf,
  put,
  type Files,
} from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder, type TemporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { inRound } from '../../../test/support/round.ts';
import type { Shelf } from '../shelf.ts';
import { openStoredShelf } from './open-stored-shelf.ts';

const ID = 'a/b/v1';
const before = filesOf(ID, { 'src/a.js': 'before', 'before.js': '1' });
const after = {
  ...filesOf(ID, { 'src/a.js': 'after', 'src/deep/b.js': 'after' }),
  'metadata.json': metadataOf(ID, 'after'),
};

/** The files in a folder of `.kgrid`. */
const listing = (dir: string, folder: string): string[] =>
  existsSync(join(dir, '.kgrid'))
    ? readdirSync(join(dir, '.kgrid', folder), { recursive: true, withFileTypes: true }).flatMap((entry) =>
        entry.isFile() ? [entry.name] : [],
      )
    : [];

/** A disk that fails once, at the first step that `fails` picks. */
class FaultyDisk {
  readonly steps: string[] = [];
  errno = 'EIO';
  failAt: number | undefined;
  failAtStep: string | undefined;

  readonly onStep = (step: string): void => {
    const index = this.steps.push(step) - 1;
    if (index !== this.failAt && step !== this.failAtStep) return;
    this.failAt = undefined;
    this.failAtStep = undefined;
    throw Object.assign(new Error(`${this.errno}: /tmp/on/the/host`), { code: this.errno });
  };
}

interface Change {
  readonly name: string;
  /** Puts what the change is made to on the shelf folder. */
  prepare(dir: TemporaryFolder): Promise<void>;
  make(shelf: Shelf): Promise<unknown>;
  /** What is on the shelf then. */
  readonly content: Files | undefined;
}

const stored = async (dir: TemporaryFolder): Promise<void> => {
  await using shelf = await openStoredShelf(dir.path);
  await put(shelf, ID, before);
};
const exploded = (dir: TemporaryFolder): Promise<void> =>
  dir.add(Object.fromEntries(Object.entries(before).map(([path, content]) => [`ko/${path}`, content])));
const newMetadata = { ...before, 'metadata.json': metadataOf(ID, 'after') };
const putMetadata = (shelf: Shelf): Promise<unknown> => shelf.replaceMetadata(koId(ID), metadataOf(ID, 'after'));
const remove = (shelf: Shelf): Promise<unknown> => shelf.remove(koId(ID));

const changes: Change[] = [
  { name: 'an import', prepare: stored, make: (shelf) => put(shelf, ID, after), content: after },
  { name: 'an import over a folder', prepare: exploded, make: (shelf) => put(shelf, ID, after), content: after },
  { name: 'new metadata', prepare: stored, make: putMetadata, content: newMetadata },
  { name: 'new metadata in a folder', prepare: exploded, make: putMetadata, content: newMetadata },
  { name: 'a removal', prepare: stored, make: remove, content: undefined },
  { name: 'a removal of a folder', prepare: exploded, make: remove, content: undefined },
];

const contentOrNone = async (shelf: Shelf): Promise<unknown> =>
  (await shelf.find(koId(ID))) === undefined ? undefined : contentOn(shelf, ID);

/** In every run each step fails in one of the changes that take it. */
const failed = new Set<string>();
const isWanted = (step: string): boolean => inRound(!failed.has(step) && Boolean(failed.add(step)), true);

for (const change of changes) {
  test(`${change.name} that meets an error of the disk, at any step, changes nothing or is made`, async () => {
    const steps = await stepsOf(change);
    for (const [index, step] of steps.entries()) {
      if (!isWanted(step)) continue;
      const at = `at step ${String(index)}, ${step}`;
      await using dir = await temporaryFolder();
      await change.prepare(dir);
      const disk = new FaultyDisk();
      const objects = listing(dir.path, 'objects').length;
      let expected: unknown;
      {
        await using shelf = await openStoredShelf(dir.path, { onStep: disk.onStep });
        disk.failAt = disk.steps.length + index;
        const [outcome] = await Promise.allSettled([change.make(shelf)]);
        // Once the change is durable, failing to tidy up after it is only a warning.
        if (outcome.status === 'rejected') failsWith('shelf-not-writable', /EIO/)(outcome.reason);
        else assert.match(step, /^(remove staging|.*(removed|exploded folder))$/, at);
        expected = outcome.status === 'rejected' ? before : change.content;
        assert.deepEqual(await contentOrNone(shelf), expected, at);
        if (step !== 'remove staging') assert.deepEqual(listing(dir.path, 'staging'), [], at);
        if (outcome.status === 'rejected') assert.equal(listing(dir.path, 'objects').length, objects, at);
      }
      await using shelf = await openStoredShelf(dir.path);
      assert.deepEqual(await contentOrNone(shelf), expected, at);
      assert.deepEqual(listing(dir.path, 'staging'), [], at);
      await change.make(shelf).catch(failsWith('ko-not-found'));
      assert.deepEqual(await contentOrNone(shelf), change.content, at);
      assert.deepEqual(shelf.damage(), [], at);
    }
  });
}

/** The steps of a change that meets no error. */
async function stepsOf(change: Change): Promise<string[]> {
  await using dir = await temporaryFolder();
  await change.prepare(dir);
  const disk = new FaultyDisk();
  await using shelf = await openStoredShelf(dir.path, { onStep: disk.onStep });
  const opening = disk.steps.length;
  await change.make(shelf);
  assert.deepEqual(await contentOrNone(shelf), change.content);
  return disk.steps.slice(opening);
}

const refusals = [
  { errno: 'ENOSPC', code: 'shelf-full', message: /no space left/ },
  { errno: 'EDQUOT', code: 'shelf-full', message: /no space left/ },
  { errno: 'EROFS', code: 'shelf-not-writable', message: /read-only/ },
  { errno: 'EACCES', code: 'shelf-not-writable', message: /read-only/ },
  { errno: 'EIO', code: 'shelf-not-writable', message: /refused to write \(EIO\)/ },
];
for (const { errno, code, message } of refusals) {
  test(`${errno} is told to the caller as ${code}, wherever it comes from`, async () => {
    await using dir = await temporaryFolder();
    const disk = new FaultyDisk();
    disk.errno = errno;
    await using shelf = await openStoredShelf(dir.path, { onStep: disk.onStep });
    for (const step of [
      'create staging',
      'write file',
      'sync object',
      'move object',
      'sync objects',
      'INSERT INTO ko',
      'COMMIT',
    ]) {
      disk.failAtStep = step;
      await assert.rejects(put(shelf, ID, before), failsWith(code, message));
    }
  });
}

test('an import that meets a full disk changes nothing, and is taken once there is space', async () => {
  await using dir = await temporaryFolder();
  await using disk = smallDisk(dir.path);
  await using shelf = await openStoredShelf(dir.path, { onStep: disk.onStep });
  await put(shelf, ID, before);
  const stored = listing(dir.path, 'objects').length;
  disk.fill();
  const large = filesOf(ID, { 'large.bin': Buffer.alloc(2 ** 20) });
  await assert.rejects(put(shelf, ID, large), failsWith('shelf-full'));
  {
    await using staging = await shelf.stage();
    const stream = Readable.from(Array.from({ length: 16 }, () => Buffer.alloc(2 ** 16)));
    await assert.rejects(staging.write('a.bin', stream), failsWith('shelf-full'));
    assert.equal(stream.destroyed, true);
  }
  assert.deepEqual(listing(dir.path, 'staging'), []);
  assert.equal(listing(dir.path, 'objects').length, stored);
  assert.deepEqual(await contentOn(shelf, ID), before);
  disk.free();
  await put(shelf, ID, large);
  await shelf.remove(koId(ID));
});

test('a disk that fails for good at the end of a change leaves what was there', async () => {
  await using dir = await temporaryFolder();
  let dead = false;
  const onStep = (step: string): void => {
    dead ||= step === 'COMMIT' && existsSync(join(dir.path, 'fail'));
    if (dead) throw Object.assign(new Error(), { code: 'EIO' });
  };
  {
    await using shelf = await openStoredShelf(dir.path, { onStep });
    await put(shelf, ID, before);
    await dir.add({ fail: '' });
    await assert.rejects(put(shelf, ID, after), failsWith('shelf-not-writable'));
    assert.deepEqual(await contentOn(shelf, ID), before);
  }
  await using shelf = await openStoredShelf(dir.path);
  assert.deepEqual(shelf.damage(), []);
  assert.deepEqual(await contentOn(shelf, ID), before);
});

interface SmallDisk extends AsyncDisposable {
  readonly onStep: (step: string) => void;
  fill(): void;
  free(): void;
}

/** A disk of 2 MB at a folder, where mounting is permitted; elsewhere one that says that it is full. */
function smallDisk(path: string): SmallDisk {
  const filler = join(path, 'filler');
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    let full = false;
    return {
      onStep: (step) => {
        if (full && step.startsWith('sync')) throw Object.assign(new Error(), { code: 'ENOSPC' });
      },
      fill: () => void (full = true),
      free: () => void (full = false),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  return {
    onStep: () => undefined,
    fill: () => writeFileSync(filler, Buffer.alloc(1.5 * 2 ** 20)),
    free: () => rmSync(filler),
    [Symbol.asyncDispose]: async () => void (await promisify(execFile)('umount', [path])),
  };
}
