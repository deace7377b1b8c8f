import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentOn, failsWith, koId, put } from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { openStoredShelf } from '../store/open-stored-shelf.ts';

const metadata = (atId: string): string => JSON.stringify({ '@id': atId, 'dc:title': 'T' });

test('a folder whose @id is a word or a URL has the place that an import would have', async () => {
  await using dir = await temporaryFolder();
  await dir.add({
    'x/metadata.json': metadata('_:bmi-calculator'),
    'y/metadata.json': metadata('https://example.org/ldl'),
  });
  await using shelf = await openStoredShelf(dir.path, { defaultNaan: '99999' });
  const places = (await shelf.list()).map(({ id, atId }) => [koKey(id), atId]);
  assert.deepEqual(places, [
    ['99999/bmi.calculator/v1.0', 'bmi-calculator'],
    ['99999/ldl/v1.0', 'https://example.org/ldl'],
  ]);
  assert.equal((await shelf.withAtId('bmi-calculator')).length, 1);
  await shelf.replaceMetadata(koId('99999/ldl/v1.0'), metadata('https://example.net/ldl'));
  assert.deepEqual(await shelf.withAtId('https://example.org/ldl'), []);
  assert.equal((await shelf.withAtId('https://example.net/ldl')).length, 1);
});

test('of two folders whose @ids fall on one place, the damage names both, and an import of another is refused', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ 'x/metadata.json': metadata('bmi'), 'y/metadata.json': metadata('https://example.org/bmi') });
  await using shelf = await openStoredShelf(dir.path);
  assert.deepEqual(shelf.damage(), [
    {
      where: 'y',
      cause:
        'its "@id" https://example.org/bmi falls on the place kgrid/bmi/v1.0, as does bmi of the folder x; give one of the two another name or version',
    },
  ]);
  const other = put(shelf, 'kgrid/bmi/v1.0', { 'metadata.json': metadata('urn/bmi') });
  await assert.rejects(other, failsWith('import-refused', /urn\/bmi falls on .*, where bmi is on the shelf/));
  assert.deepEqual(await contentOn(shelf, 'kgrid/bmi/v1.0'), { 'metadata.json': metadata('bmi') });
});
