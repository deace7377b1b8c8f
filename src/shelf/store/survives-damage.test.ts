import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { koKey } from '../../knowledge-object/id.ts';
import {
  contentOn,
  failsWith,
  filesOf,
  koId,
  metadataOf,
  open,
  put,
} from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { listingOf, objectOf, packagesIn } from '../../../test/support/stored-packages.ts';
import type { Shelf } from '../shelf.ts';
import { openStoredShelf } from './open-stored-shelf.ts';

const BAD = 'bad/ko/v1';
const GOOD = 'good/ko/v1';
const LARGE = 'x'.repeat(3 * 2 ** 20);
const FILES = filesOf(BAD, { 'src/index.js': 'function run() {}', large: LARGE });

/** Changes one file of the KO `bad/ko/v1` on the disk. */
interface Damage {
  readonly what: string;
  readonly cause: RegExp;
  /** True where it shows when the file is read, not when the package is opened. */
  readonly late?: true;
  inflict(object: (path: string) => string): void | Promise<void>;
}

const damages: Damage[] = [
  { what: 'a missing file', cause: /src\/index\.js is missing/, inflict: (object) => rm(object('src/index.js')) },
  {
    what: 'a folder in its place',
    cause: /src\/index\.js is not what was stored/,
    inflict: async (object) => {
      await rm(object('src/index.js'));
      await mkdir(object('src/index.js'));
    },
  },
  {
    what: 'a shorter file',
    cause: /large is not what was stored/,
    inflict: (object) => truncateSync(object('large'), 5),
  },
  {
    what: 'a flipped bit',
    cause: /large (of bad\/ko\/v1 )?is not what was stored/,
    late: true,
    inflict: (object) => writeFileSync(object('large'), `${LARGE.slice(0, -1)}y`),
  },
];

/** A shelf with a good KO and one that was damaged while no activator ran. */
async function damagedShelf(dir: string, damage: Damage): Promise<Shelf> {
  {
    await using shelf = await openStoredShelf(dir);
    await put(shelf, GOOD, filesOf(GOOD, { 'src/index.js': 'of its own' }));
    await put(shelf, BAD, FILES);
  }
  await damage.inflict((path) => objectOf(dir, BAD, path));
  return openStoredShelf(dir);
}

for (const damage of damages) {
  test(`${damage.what}: the shelf opens, names it, and serves the rest`, async () => {
    await using dir = await temporaryFolder();
    await using shelf = await damagedShelf(dir.path, damage);
    const listed = (await shelf.list()).map(({ id }) => koKey(id));
    assert.deepEqual(listed, [BAD, GOOD]);
    assert.deepEqual(await contentOn(shelf, GOOD), filesOf(GOOD, { 'src/index.js': 'of its own' }));
    if (damage.late) {
      assert.deepEqual(shelf.damage(), []);
      const opened = await open(shelf, BAD);
      await assert.rejects(opened.read('large'), failsWith('package-damaged', damage.cause));
      await assert.rejects(buffer(await opened.stream('large')), failsWith('package-damaged', damage.cause));
      opened.release();
    }
    await assert.rejects(shelf.open(koId(BAD)), failsWith('package-damaged', damage.cause));
    assert.deepEqual(
      shelf.damage().map(({ where }) => where),
      [BAD],
    );
    assert.match(shelf.damage()[0]?.cause ?? '', damage.cause);
    assert.doesNotMatch(shelf.damage()[0]?.cause ?? '', new RegExp(dir.path));
    await shelf.rescan();
    assert.equal(shelf.damage().length, 1);
  });

  test(`${damage.what}: an import of the KO repairs it`, async () => {
    await using dir = await temporaryFolder();
    {
      await using shelf = await damagedShelf(dir.path, damage);
      // A folder in the place of a file is beyond what an import may remove.
      if (damage.what === 'a folder in its place') return;
      await put(shelf, BAD, FILES);
      assert.deepEqual(shelf.damage(), []);
      assert.deepEqual(await contentOn(shelf, BAD), FILES);
    }
    await using shelf = await openStoredShelf(dir.path);
    assert.deepEqual(shelf.damage(), []);
    assert.deepEqual(await contentOn(shelf, BAD), FILES);
  });

  test(`${damage.what}: the KO can be removed`, async () => {
    await using dir = await temporaryFolder();
    {
      await using shelf = await damagedShelf(dir.path, damage);
      await shelf.remove(koId(BAD));
      assert.deepEqual(shelf.damage(), []);
      await assert.rejects(shelf.remove(koId(BAD)), failsWith('ko-not-found'));
    }
    await using shelf = await openStoredShelf(dir.path);
    assert.deepEqual(
      (await shelf.list()).map(({ id }) => koKey(id)),
      [GOOD],
    );
    assert.deepEqual(shelf.damage(), []);
    assert.equal(packagesIn(dir.path).length, 1);
  });
}

test('the first bytes of a large file that changed are streamed, the last are not', async () => {
  await using dir = await temporaryFolder();
  const flip = damages.find(({ late }) => late);
  assert.ok(flip);
  await using shelf = await damagedShelf(dir.path, flip);
  const opened = await open(shelf, BAD);
  let received = 0;
  const reading = (async () => {
    for await (const chunk of await opened.stream('large')) received += (chunk as Buffer).length;
  })();
  await assert.rejects(reading, failsWith('package-damaged'));
  assert.ok(received > 0 && received < LARGE.length, String(received));
  opened.release();
});

test('a file that a person puts back serves again after a look, or after a start', async () => {
  await using dir = await temporaryFolder();
  {
    await using shelf = await openStoredShelf(dir.path);
    await put(shelf, BAD, FILES);
  }
  const file = objectOf(dir.path, BAD, 'large');
  await rename(file, `${file}.away`);
  {
    await using shelf = await openStoredShelf(dir.path);
    await assert.rejects(open(shelf, BAD), failsWith('package-damaged'));
    assert.equal(shelf.damage().length, 1);
    await rename(`${file}.away`, file);
    await shelf.rescan();
    assert.deepEqual(await contentOn(shelf, BAD), FILES);
  }
  await using shelf = await openStoredShelf(dir.path);
  assert.deepEqual(await contentOn(shelf, BAD), FILES);
});

test('what is staged of imports that did not end goes at the start', async () => {
  await using dir = await temporaryFolder();
  {
    await using shelf = await openStoredShelf(dir.path);
    await put(shelf, GOOD);
  }
  await dir.add({ '.kgrid/staging/1234/content/metadata.json': metadataOf(BAD), '.kgrid/staging/5678': '{"format":' });
  await using shelf = await openStoredShelf(dir.path, { onWarning: assert.fail });
  assert.deepEqual(listingOf(dir.path, '.kgrid/staging'), []);
  assert.deepEqual(await contentOn(shelf, GOOD), filesOf(GOOD));
});

test('a database that was put back from a backup says nothing of what is left over, and what it knows serves', async () => {
  await using dir = await temporaryFolder();
  const file = join(dir.path, '.kgrid/shelf.db');
  {
    await using shelf = await openStoredShelf(dir.path);
    await put(shelf, GOOD);
  }
  await copyFile(file, `${file}.backup`);
  {
    await using shelf = await openStoredShelf(dir.path);
    await put(shelf, BAD, FILES);
  }
  await rename(`${file}.backup`, file);
  for (const part of ['-wal', '-shm']) await rm(file + part, { force: true });
  const warnings: string[] = [];
  await using shelf = await openStoredShelf(dir.path, { onWarning: (message) => warnings.push(message) });
  assert.match(warnings.join('\n'), /older than it was/);
  assert.equal(await shelf.collect(Date.now() + 7_200_000), 0);
  assert.deepEqual(await contentOn(shelf, GOOD), filesOf(GOOD));
  assert.equal(await shelf.find(koId(BAD)), undefined);
});
