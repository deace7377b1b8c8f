import assert from 'node:assert/strict';
import { koKey } from '../../src/knowledge-object/id.ts';
import type { Shelf, ShelfEntry } from '../../src/shelf/shelf.ts';
import type { TestWithShelf } from './shelf.ts';
import { contentOn, failsWith, koId, put } from './shelf-packages.ts';

const BMI = 'kgrid/bmi/v1.0';

const putWith = (
  shelf: Shelf,
  place: string,
  atId: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<ShelfEntry> =>
  put(shelf, place, { 'metadata.json': JSON.stringify({ '@id': atId, 'koio:kgrid': '2', ...more }), 'x.txt': atId });

const placesOf = async (shelf: Shelf, atId: string): Promise<string[]> =>
  (await shelf.withAtId(atId)).map(({ id }) => koKey(id));

export function atIdTests(test: TestWithShelf): void {
  test('a KO is found by its @id, in any spelling, and at every start', async (storage) => {
    {
      await using shelf = await storage.open();
      await putWith(shelf, BMI, '_:bmi');
      await putWith(shelf, 'kgrid/ldl/v1.0', 'https://example.org/ldl/');
      await put(shelf, 'a/b/v1.0');
    }
    await using shelf = await storage.open();
    for (const spelled of ['bmi', '_:bmi', 'bmi/']) assert.deepEqual(await placesOf(shelf, spelled), [BMI], spelled);
    assert.deepEqual(await placesOf(shelf, 'https://example.org/ldl'), ['kgrid/ldl/v1.0']);
    assert.deepEqual(await placesOf(shelf, 'a/b/v1.0'), ['a/b/v1.0']);
    assert.deepEqual(await placesOf(shelf, 'a/b/v1.0/'), ['a/b/v1.0']);
    for (const none of ['', '/', 'a/b', BMI, 'BMI', 'ldl', '__proto__'])
      assert.deepEqual(await placesOf(shelf, none), [], none);
    assert.equal((await shelf.find(koId(BMI)))?.atId, 'bmi');
    assert.equal((await shelf.find(koId('a/b/v1.0')))?.atId, undefined);
  });

  test('an @id with several versions gives all of them, the oldest first', async (storage) => {
    await using shelf = await storage.open();
    for (const version of ['v10.0', 'v2.0'])
      await putWith(shelf, `kgrid/bmi/${version}`, 'bmi', { 'dc:version': version });
    assert.deepEqual(await placesOf(shelf, 'bmi'), ['kgrid/bmi/v2.0', 'kgrid/bmi/v10.0']);
  });

  test('what is found by an @id follows every change', async (storage) => {
    await using shelf = await storage.open();
    await putWith(shelf, BMI, 'bmi');
    assert.deepEqual(await placesOf(shelf, 'bmi'), [BMI]);
    await shelf.replaceMetadata(koId(BMI), '{"@id": "body-mass", "koio:kgrid": "2"}');
    assert.deepEqual(await placesOf(shelf, 'bmi'), []);
    assert.deepEqual(await placesOf(shelf, 'body-mass'), [BMI]);
    await shelf.replaceMetadata(koId(BMI), '{"@id": ["none"]}');
    assert.deepEqual(await placesOf(shelf, 'body-mass'), []);
    await putWith(shelf, BMI, 'bmi');
    assert.deepEqual(await placesOf(shelf, 'bmi'), [BMI]);
    await shelf.remove(koId(BMI));
    assert.deepEqual(await placesOf(shelf, 'bmi'), []);
    for (let i = 0; i < 80; i++) await putWith(shelf, `kgrid/n${i}/v1.0`, `n-${i}`);
    assert.deepEqual(await placesOf(shelf, 'n-79'), ['kgrid/n79/v1.0']);
  });

  test('the place of a KO is refused to another @id, which leaves it as it was', async (storage) => {
    await using shelf = await storage.open();
    await putWith(shelf, BMI, 'bmi');
    const before = await contentOn(shelf, BMI);
    const both = /https:\/\/example\.org\/bmi falls on the place kgrid\/bmi\/v1\.0, where bmi is/;
    await assert.rejects(putWith(shelf, BMI, 'https://example.org/bmi'), failsWith('import-refused', both));
    await assert.rejects(putWith(shelf, BMI, BMI), failsWith('import-refused'));
    assert.deepEqual(await contentOn(shelf, BMI), before);
    await putWith(shelf, BMI, '_:bmi', { 'dc:title': 'again' });
    await shelf.remove(koId(BMI));
    await putWith(shelf, BMI, 'https://example.org/bmi');
    await assert.rejects(putWith(shelf, BMI, 'bmi'), failsWith('import-refused'));
  });

  test('of two @ids that come at once for one place, one gets it', async (storage) => {
    await using shelf = await storage.open();
    const settled = await Promise.allSettled(['bmi', 'x/bmi', 'y/bmi'].map((atId) => putWith(shelf, BMI, atId)));
    assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  test('a KO whose metadata were put with the @id of another place can be imported again', async (storage) => {
    await using shelf = await storage.open();
    await put(shelf, 'a/b/v1.0');
    await shelf.replaceMetadata(koId('a/b/v1.0'), '{"@id": "x/y/v1.0"}');
    await put(shelf, 'a/b/v1.0');
    assert.deepEqual(await placesOf(shelf, 'a/b/v1.0'), ['a/b/v1.0']);
    assert.deepEqual(await placesOf(shelf, 'x/y/v1.0'), []);
  });
}
