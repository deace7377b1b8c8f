import assert from 'node:assert/strict';
import { koKey } from '../../src/knowledge-object/id.ts';
import type { KeepRemoved, Shelf } from '../../src/shelf/shelf.ts';
import type { TestWithShelf } from './shelf.ts';
import { contentOf, contentOn, failsWith, filesOf, koId, metadataOf, open, put } from './shelf-packages.ts';

const ID = 'hello/world/v1.0';
const DAY = 86_400_000;
const keep = (count: number, age = 30 * DAY): { keep: KeepRemoved } => ({ keep: { count, age } });

const generation = (number: number, id = ID) =>
  filesOf(id, { 'a.js': `g${number}`, [`only-g${number}.js`]: `${number}` });

/** `<id> <why>` and the digest of all that is kept. */
const keptOn = async (shelf: Shelf, id?: string): Promise<[string, string][]> =>
  (await shelf.removed(id === undefined ? undefined : koId(id))).map((each) => [
    `${koKey(each.id)} ${each.why}`,
    each.digest,
  ]);

export function removedTests(test: TestWithShelf): void {
  test('what is deleted or replaced is kept, the latest first, and comes back byte for byte', async (storage) => {
    await using shelf = await storage.open(keep(5));
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const first = await put(shelf, ID, filesOf(ID, { 'a.bin': bytes, 'größe/b': 'ü' }));
    const second = await put(shelf, ID, generation(2));
    const other = await put(shelf, 'hello/world/v2.0', generation(1, 'hello/world/v2.0'));
    await shelf.remove(koId(ID));
    await shelf.remove(koId('hello/world/v2.0'));
    assert.deepEqual(await keptOn(shelf), [
      ['hello/world/v2.0 deleted', other.digest],
      [`${ID} deleted`, second.digest],
      [`${ID} replaced`, first.digest],
    ]);
    assert.deepEqual(await keptOn(shelf, ID), (await keptOn(shelf)).slice(1));
    for (const { removed } of await shelf.removed()) assert.ok(Math.abs(removed.getTime() - Date.now()) < 60_000);
    const before = await shelf.revision();
    assert.deepEqual(await shelf.restore(koId(ID), { digest: first.digest }), { entry: first, replaced: undefined });
    assert.deepEqual(await shelf.find(koId(ID)), first);
    assert.deepEqual((await shelf.changes(before))?.map(koKey), [ID]);
    const opened = await open(shelf, ID);
    assert.deepEqual(await opened.read('a.bin'), bytes);
    assert.equal((await opened.read('größe/b')).toString(), 'ü');
    opened.release();
    assert.deepEqual(await keptOn(shelf, ID), [[`${ID} deleted`, second.digest]], 'what is there is not kept');
    assert.deepEqual(await shelf.restore(koId(ID)), { entry: second, replaced: first.digest });
    assert.deepEqual(await keptOn(shelf, ID), [[`${ID} replaced`, first.digest]], 'and what it replaced is');
    assert.deepEqual(await contentOn(shelf, ID), generation(2));
  });

  test('what is kept can be opened without being restored, and nothing else can', async (storage) => {
    await using shelf = await storage.open(keep(5));
    const first = await put(shelf, ID, generation(1));
    const second = await put(shelf, ID, generation(2));
    const opened = await shelf.openRemoved(koId(ID), first.digest);
    assert.deepEqual(await contentOf(opened), generation(1));
    assert.equal(opened.entry.digest, first.digest);
    opened.release();
    assert.deepEqual(await shelf.find(koId(ID)), second);
    for (const digest of [second.digest, '0'.repeat(64)])
      await assert.rejects(shelf.openRemoved(koId(ID), digest), failsWith('package-not-kept'));
  });

  test('what is kept is there when the shelf is opened again, and was restored stays so', async (storage) => {
    let kept;
    {
      await using shelf = await storage.open(keep(5));
      for (const number of [1, 2, 3]) await put(shelf, ID, generation(number));
      await shelf.remove(koId(ID));
      kept = await shelf.removed();
      assert.equal(kept.length, 3);
    }
    {
      await using shelf = await storage.open(keep(5));
      assert.deepEqual(await shelf.removed(), kept);
      assert.deepEqual(await shelf.list(), []);
      assert.deepEqual(shelf.damage(), []);
      await shelf.restore(koId(ID), { digest: kept[1]?.digest });
    }
    await using shelf = await storage.open(keep(5));
    assert.deepEqual(await contentOn(shelf, ID), generation(2));
    assert.deepEqual(
      (await shelf.removed()).map(({ digest }) => digest),
      [kept[0]?.digest, kept[2]?.digest],
    );
  });

  test('no more is kept of a version than may be; the oldest goes first, and its space is given back', async (storage) => {
    await using shelf = await storage.open(keep(2));
    const digests = [];
    for (const number of [1, 2, 3, 4, 5]) digests.unshift((await put(shelf, ID, generation(number))).digest);
    await put(shelf, 'hello/world/v2.0', generation(1, 'hello/world/v2.0'));
    await shelf.remove(koId('hello/world/v2.0'));
    assert.deepEqual(
      (await keptOn(shelf, ID)).map(([, digest]) => digest),
      digests.slice(1, 3),
    );
    assert.equal((await keptOn(shelf)).length, 3, 'each version has its own');
    assert.equal(await storage.packages(), 4);
    await assert.rejects(
      shelf.restore(koId(ID), { digest: digests[3] }),
      failsWith('package-not-kept', new RegExp(`${digests[3]}; kept are: sha256:${digests[1]} .*${digests[2]}`)),
    );
  });

  test('what is older than it may be is not kept, and its space is given back while the shelf is open', async (storage) => {
    let now = Date.now();
    await using shelf = await storage.open({ ...keep(10, DAY), now: () => now });
    await put(shelf, ID, generation(1));
    await put(shelf, ID, generation(2));
    now += DAY / 2;
    await shelf.remove(koId(ID));
    await put(shelf, 'a/b/v1');
    assert.equal((await keptOn(shelf)).length, 2);
    assert.equal(await shelf.discardRemoved(), 0);
    now += DAY / 2;
    assert.equal((await keptOn(shelf)).length, 1, 'it is none from the moment that it is too old');
    assert.equal(await shelf.discardRemoved(), 1);
    assert.equal(await storage.packages(), 2);
    now += DAY;
    assert.deepEqual(await shelf.removed(), []);
    assert.equal(await shelf.discardRemoved(), 1);
    await assert.rejects(
      shelf.restore(koId(ID)),
      failsWith('package-not-kept', /^Nothing is kept of hello\/world\/v1\.0/),
    );
    assert.equal(await storage.packages(), 1);
    assert.deepEqual(await contentOn(shelf, 'a/b/v1'), filesOf('a/b/v1'));
  });

  test('a change gives back what its KO has beyond its bounds, and smaller bounds hold from the next start', async (storage) => {
    let now = Date.now();
    {
      await using shelf = await storage.open({ ...keep(10, DAY), now: () => now });
      for (const number of [1, 2, 3]) await put(shelf, ID, generation(number));
      now += DAY + 1000;
      await put(shelf, ID, generation(4));
      assert.equal(await storage.packages(), 2);
      await put(shelf, ID, generation(5));
    }
    await using shelf = await storage.open({ ...keep(1), now: () => now });
    assert.equal((await keptOn(shelf)).length, 1);
    assert.equal(await storage.packages(), 3, 'a start takes nothing away');
    assert.equal(await shelf.discardRemoved(), 1);
    assert.equal(await storage.packages(), 2);
  });

  for (const [what, bounds] of [
    ['count', keep(0)],
    ['age', keep(10, 0)],
  ] as const)
    test(`with a bound of 0 for the ${what} nothing is kept`, async (storage) => {
      await using shelf = await storage.open(bounds);
      await put(shelf, ID, generation(1));
      await put(shelf, ID, generation(2));
      assert.equal(await storage.packages(), 1);
      await shelf.remove(koId(ID));
      assert.deepEqual(await shelf.removed(), []);
      assert.equal(await storage.packages(), 0);
      await assert.rejects(shelf.restore(koId(ID)), failsWith('package-not-kept'));
    });

  test('what is kept twice costs once', async (storage) => {
    await using shelf = await storage.open(keep(10));
    for (const number of [1, 2, 1, 2, 1, 2]) await put(shelf, ID, generation(number));
    assert.equal((await keptOn(shelf)).length, 1);
    assert.equal(await storage.packages(), 2);
    for (const title of ['x', 'y', 'z']) await shelf.replaceMetadata(koId(ID), metadataOf(ID, title));
    await put(shelf, ID, { ...generation(2), 'metadata.json': metadataOf(ID, 'imported') });
    assert.equal((await keptOn(shelf)).length, 5);
    assert.equal(await storage.packages(), 2, 'other metadata share the files');
    await shelf.remove(koId(ID));
    assert.equal(await storage.packages(), 2);
    for (const { digest } of [...(await shelf.removed())].reverse()) await shelf.restore(koId(ID), { digest });
    assert.equal(await storage.packages(), 2);
    assert.equal((await keptOn(shelf)).length, 5);
  });

  test('metadata that were replaced come back', async (storage) => {
    await using shelf = await storage.open(keep(5));
    const before = await put(shelf, ID);
    await shelf.replaceMetadata(koId(ID), '{"other":true}');
    assert.deepEqual((await shelf.restore(koId(ID))).entry, before);
    assert.deepEqual(await contentOn(shelf, ID), filesOf(ID));
  });

  test('a restore of what is there changes nothing, and of what is not kept neither', async (storage) => {
    await using shelf = await storage.open(keep(5));
    const entry = await put(shelf, ID, generation(1));
    await put(shelf, ID, generation(2));
    const { entry: back } = await shelf.restore(koId(ID));
    assert.deepEqual(back, entry);
    const [before, kept] = [await shelf.revision(), await shelf.removed()];
    assert.deepEqual(await shelf.restore(koId(ID), { digest: entry.digest }), { entry, replaced: undefined });
    await assert.rejects(
      shelf.restore(koId(ID), { digest: '0'.repeat(64) }),
      failsWith('package-not-kept', /kept are: sha256:/),
    );
    await assert.rejects(
      shelf.restore(koId('no/such/v1')),
      failsWith('package-not-kept', /^Nothing is kept of no\/such\/v1/),
    );
    assert.deepEqual([await shelf.revision(), await shelf.removed()], [before, kept]);
  });

  test('a restore honours the condition', async (storage) => {
    await using shelf = await storage.open(keep(5));
    const first = await put(shelf, ID, generation(1));
    const second = await put(shelf, ID, generation(2));
    for (const ifMatch of [[], ['"x"'], [first.etag]])
      await assert.rejects(shelf.restore(koId(ID), { ifMatch }), failsWith('precondition-failed'));
    assert.deepEqual(await shelf.find(koId(ID)), second);
    assert.deepEqual((await shelf.restore(koId(ID), { ifMatch: [second.etag] })).entry, first);
    await shelf.remove(koId(ID));
    await assert.rejects(shelf.restore(koId(ID), { ifMatch: ['*'] }), failsWith('precondition-failed'));
  });

  test('what an open package reads stays until its release, also beyond the bounds', async (storage) => {
    await using shelf = await storage.open(keep(1));
    await put(shelf, ID, generation(1));
    const held = await open(shelf, ID);
    for (const number of [2, 3, 4]) await put(shelf, ID, generation(number));
    assert.deepEqual(await contentOf(held), generation(1));
    held.release();
    held.release();
  });

  test('restores, imports, deletes and reads at once never fail nor mix', async (storage) => {
    await using shelf = await storage.open(keep(3));
    const known = new Set(['missing']);
    for (const number of [0, 1, 2, 3]) known.add(JSON.stringify(generation(number)));
    let writing = true;
    const reader = async (): Promise<void> => {
      while (writing) {
        const opened = await shelf.open(koId(ID));
        const content =
          opened === undefined ? 'missing' : JSON.stringify({ ...filesOf(ID, {}), ...(await contentOf(opened)) });
        opened?.release();
        assert.ok(known.has(content), content);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const readers = [reader(), reader()];
    const writers = Array.from({ length: 40 }, async (_, i) => {
      if (i % 4 === 0) await shelf.remove(koId(ID)).catch(failsWith('ko-not-found'));
      else if (i % 4 === 1) await put(shelf, ID, generation((i >> 2) % 4));
      else if (i % 4 === 2) await shelf.restore(koId(ID)).catch(failsWith('package-not-kept'));
      else await shelf.discardRemoved();
    });
    await Promise.all(writers).finally(() => (writing = false));
    await Promise.all(readers);
    assert.deepEqual(shelf.damage(), []);
    assert.ok((await shelf.removed()).length <= 3);
    await put(shelf, ID, generation(9));
    assert.ok((await storage.packages()) <= 4);
  });
}
