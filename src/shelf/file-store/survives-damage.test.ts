import assert from 'node:assert/strict';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
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
import { listingOf, packagesIn } from '../../../test/support/stored-packages.ts';
import type { Shelf } from '../shelf.ts';
import { openFileShelf } from './open-file-shelf.ts';

const BAD = 'bad/ko/v1';
const GOOD = 'good/ko/v1';
const LARGE = 'x'.repeat(3 * 2 ** 20);
const FILES = filesOf(BAD, { 'src/index.js': 'function run() {}', large: LARGE });

/** Changes one thing of the KO `bad/ko/v1` on the disk. */
interface Damage {
  readonly what: string;
  readonly cause: RegExp;
  /** True where nothing of the entry can be trusted, so that it is not even listed. */
  readonly unreadable?: true;
  /** True where it shows when the file is read, not before. */
  readonly late?: true;
  inflict(pointer: string, packageFolder: string): void | Promise<void>;
}

const edit = (path: string, change: (text: string) => string): void =>
  writeFileSync(path, change(readFileSync(path, 'utf8')));

const damages: Damage[] = [
  { what: 'half a pointer', cause: /JSON/, unreadable: true, inflict: (pointer) => truncateSync(pointer, 100) },
  { what: 'an empty pointer', cause: /JSON/, unreadable: true, inflict: (pointer) => truncateSync(pointer, 0) },
  {
    what: 'a changed letter in the metadata',
    cause: /digests/,
    unreadable: true,
    inflict: (pointer) => edit(pointer, (text) => text.replace('a title', 'b title')),
  },
  {
    what: 'a changed list of files',
    cause: /digests/,
    unreadable: true,
    inflict: (pointer) => edit(pointer, (text) => text.replace('src/index.js', 'src/other.js')),
  },
  {
    what: 'a list of files that leaves the package',
    cause: /list of files/,
    unreadable: true,
    inflict: (pointer) => edit(pointer, (text) => text.replace('src/index.js', '../../../x')),
  },
  {
    what: 'a pointer of a later format',
    cause: /format 2/,
    unreadable: true,
    inflict: (pointer) => edit(pointer, (text) => text.replace('"format": 1', '"format": 2')),
  },
  {
    what: 'the pointer of another KO',
    cause: /another knowledge object/,
    unreadable: true,
    inflict: (pointer) => writeFileSync(pointer, readFileSync(pointer.replace('bad', 'good'))),
  },
  {
    what: 'a folder for a pointer',
    cause: /EISDIR/,
    unreadable: true,
    inflict: async (pointer) => {
      await rm(pointer);
      await mkdir(pointer);
    },
  },
  { what: 'no package folder', cause: /large is missing/, inflict: (_, folder) => rm(folder, { recursive: true }) },
  {
    what: 'a missing file',
    cause: /src\/index\.js is missing/,
    inflict: (_, folder) => rm(join(folder, 'src/index.js')),
  },
  {
    what: 'a shorter file',
    cause: /large is not what was stored/,
    inflict: (_, folder) => truncateSync(join(folder, 'large'), 5),
  },
  {
    what: 'a flipped bit',
    cause: /large (of bad\/ko\/v1 )?is not what was stored/,
    late: true,
    inflict: (_, folder) => edit(join(folder, 'large'), (text) => `${text.slice(0, -1)}y`),
  },
];

/** A shelf with a good KO and one that was damaged while no activator ran. */
async function damagedShelf(dir: string, damage: Damage): Promise<Shelf> {
  {
    await using shelf = await openFileShelf(dir);
    await put(shelf, GOOD);
    await put(shelf, BAD, FILES);
  }
  const pointer = join(dir, '.kgrid/index/bad-ko-v1.json');
  const { folder } = JSON.parse(readFileSync(pointer, 'utf8')) as { folder: string };
  await damage.inflict(pointer, join(dir, '.kgrid/objects', folder));
  return openFileShelf(dir);
}

for (const damage of damages) {
  test(`${damage.what}: the shelf opens, names it, and serves the rest`, async () => {
    await using dir = await temporaryFolder();
    await using shelf = await damagedShelf(dir.path, damage);
    const listed = (await shelf.list()).map(({ id }) => koKey(id));
    assert.deepEqual(listed, damage.unreadable ? [GOOD] : [BAD, GOOD]);
    assert.deepEqual(await contentOn(shelf, GOOD), filesOf(GOOD));
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
      // A folder in the place of the pointer is beyond what an import may remove.
      if (damage.cause.source === 'EISDIR') return;
      await put(shelf, BAD, FILES);
      assert.deepEqual(shelf.damage(), []);
      assert.deepEqual(await contentOn(shelf, BAD), FILES);
    }
    await using shelf = await openFileShelf(dir.path);
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
    await using shelf = await openFileShelf(dir.path);
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

test('an entry that a person repairs serves again after a look, or after a start', async () => {
  await using dir = await temporaryFolder();
  {
    await using shelf = await openFileShelf(dir.path);
    await put(shelf, BAD, FILES);
  }
  const [folder = ''] = packagesIn(dir.path);
  const file = join(dir.path, '.kgrid/objects', folder, 'large');
  const pointer = join(dir.path, '.kgrid/index/bad-ko-v1.json');
  const whole = readFileSync(pointer);
  {
    await rename(file, `${file}.away`);
    await using shelf = await openFileShelf(dir.path);
    assert.equal(shelf.damage().length, 1);
    await rename(`${file}.away`, file);
    await shelf.rescan();
    assert.deepEqual(await contentOn(shelf, BAD), FILES);
  }
  {
    // The files of an entry that cannot be read are not taken for leftovers.
    truncateSync(pointer, 100);
    await using shelf = await openFileShelf(dir.path);
    assert.equal(shelf.damage().length, 1);
  }
  writeFileSync(pointer, whole);
  await using shelf = await openFileShelf(dir.path);
  assert.deepEqual(await contentOn(shelf, BAD), FILES);
});

test('of imports that did not end what is staged goes at the start, and a package of no KO is put aside', async () => {
  await using dir = await temporaryFolder();
  {
    await using shelf = await openFileShelf(dir.path);
    await put(shelf, GOOD);
  }
  await dir.add({
    '.kgrid/staging/1234/content/metadata.json': metadataOf(BAD),
    '.kgrid/staging/5678': '{"format":',
    '.kgrid/objects/abcd-1234/src/index.js': 'half',
  });
  const warnings: string[] = [];
  await using shelf = await openFileShelf(dir.path, { onWarning: (message) => warnings.push(message) });
  assert.deepEqual(listingOf(dir.path, '.kgrid/staging'), []);
  assert.equal(packagesIn(dir.path).length, 1);
  assert.deepEqual(await contentOn(shelf, GOOD), filesOf(GOOD));
  const [place = ''] = listingOf(dir.path, '.removed');
  assert.equal(readFileSync(join(dir.path, '.removed', place, 'abcd-1234/src/index.js'), 'utf8'), 'half');
  assert.deepEqual(warnings, [
    `.kgrid/objects/abcd-1234 belongs to no knowledge object: it was moved to .removed/${place}`,
  ]);
});
