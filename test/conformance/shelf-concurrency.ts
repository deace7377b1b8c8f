import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import type { Shelf, ShelfEntry } from '../../src/shelf/shelf.ts';
import type { TestWithShelf } from './shelf.ts';
import { contentOf, contentOn, failsWith, filesOf, koId, metadataOf, put } from './shelf-packages.ts';

const ID = 'hello/world/v1.0';

/** A package of which every file names the generation: a mixture of two shows. */
const generation = (number: number): Record<string, string> => ({
  'metadata.json': metadataOf(ID, `g${String(number)}`),
  'a.js': `g${String(number)}`,
  [`only-g${String(number)}.js`]: `g${String(number)}`,
});

/** Opens what is there and checks that it is of one generation. */
async function readWhole(shelf: Shelf): Promise<boolean> {
  // A store that answers from memory would else keep the writers from their turn.
  await turn();
  const opened = await shelf.open(koId(ID));
  if (opened === undefined) return false;
  try {
    const content = await contentOf(opened);
    const [, number] = /^g(\d+)$/.exec(content['a.js'] ?? '') ?? [];
    assert.deepEqual(content, generation(Number(number)));
    assert.equal(opened.entry.metadata, content['metadata.json']);
  } finally {
    opened.release();
  }
  return true;
}

export function concurrencyTests(test: TestWithShelf): void {
  test('of imports of one id at once the last to be acknowledged stays, and readers see whole ones only', async (storage) => {
    await using shelf = await storage.open();
    await put(shelf, ID, generation(0));
    const acknowledged: ShelfEntry[] = [];
    let writing = true;
    let reads = 0;
    const readers = Array.from({ length: 4 }, async () => {
      while (writing) if (await readWhole(shelf)) reads++;
    });
    const writers = Array.from({ length: 20 }, async (_, i) =>
      acknowledged.push(await put(shelf, ID, generation(i + 1))),
    );
    await Promise.all(writers).finally(() => (writing = false));
    await Promise.all(readers);
    assert.ok(reads > 0);
    assert.deepEqual(await shelf.list(), [acknowledged.at(-1)]);
    await readWhole(shelf);
  });

  test('imports, metadata, deletes and reads at once never fail nor mix', async (storage) => {
    await using shelf = await storage.open();
    let writing = true;
    const readers = Array.from({ length: 3 }, async () => {
      while (writing) await readWhole(shelf);
    });
    const gone = failsWith('ko-not-found');
    const writers = Array.from({ length: 30 }, async (_, i) => {
      if (i % 3 === 0) await shelf.remove(koId(ID)).catch(gone);
      else await put(shelf, ID, generation(i));
      await shelf.rescan();
    });
    await Promise.all(writers).finally(() => (writing = false));
    await Promise.all(readers);
    assert.deepEqual(shelf.damage(), []);
    await put(shelf, ID, generation(99));
    assert.deepEqual(await contentOn(shelf, ID), generation(99));
  });

  test('of two changes with one condition exactly one is made', async (storage) => {
    await using shelf = await storage.open();
    const { etag } = await put(shelf, ID);
    const changes = Array.from({ length: 5 }, (_, i) =>
      shelf.replaceMetadata(koId(ID), metadataOf(ID, `change ${String(i)}`), [etag]),
    );
    const outcomes = await Promise.allSettled(changes);
    const made = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    assert.equal(made.length, 1);
    assert.deepEqual(await shelf.list(), [made[0]?.value]);
  });

  test('KOs that are imported at once are all there', async (storage) => {
    await using shelf = await storage.open();
    const ids = Array.from({ length: 25 }, (_, i) => `a/b/v${String(i)}`);
    await Promise.all(ids.map((id) => put(shelf, id)));
    assert.equal((await shelf.list()).length, 25);
    for (const id of ids) assert.deepEqual(await contentOn(shelf, id), filesOf(id));
  });
}
