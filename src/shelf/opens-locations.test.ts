import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { contentOn, filesOf, put } from '../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../test/conformance/temporary-folder.ts';
import { folderOfShelf, openShelf } from './open-shelf.ts';

const ID = 'a/b/v1';

test('a folder is a shelf, by its path or its file: address', async () => {
  await using folder = await temporaryFolder();
  {
    await using shelf = await openShelf(folder.path);
    await put(shelf, ID);
  }
  await using shelf = await openShelf(pathToFileURL(folder.path).href);
  assert.deepEqual(await contentOn(shelf, ID), filesOf(ID));
  assert.equal(folderOfShelf('shelf'), `${process.cwd()}/shelf`);
  assert.equal(folderOfShelf('a:b'), `${process.cwd()}/a:b`);
});

for (const location of [
  'postgres://ann:s3cret@db.example/kgrid',
  'postgresql://ann:s3cret@db.example/kgrid',
  'postgres:kgrid?password=s3cret',
  's3://key:s3cret@bucket/kgrid',
])
  test(`what is no folder is refused by its kind, and tells no secret: ${location.split(':')[0]}`, async () => {
    const refused = (thrown: unknown): boolean => {
      assert.ok(thrown instanceof Error);
      assert.match(
        thrown.message,
        /^--shelf: a shelf at (postgres|postgresql|s3): cannot be opened: supported is a folder/,
      );
      assert.doesNotMatch(thrown.message, /s3cret|@/);
      return true;
    };
    await assert.rejects(openShelf(location), refused);
  });
