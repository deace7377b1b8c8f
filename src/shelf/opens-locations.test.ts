import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { contentOn, filesOf, put } from '../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../test/conformance/temporary-folder.ts';
import { folderOfShelf, openShelf } from './stores.ts';

const ID = 'a/b/v1';

test('for a shelf in a folder nothing of a database is loaded', async () => {
  await using folder = await temporaryFolder();
  await import('../app.ts');
  await using shelf = await openShelf(folder.path);
  assert.equal(shelf.type, 'file');
  const loaded = Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes('/node_modules/pg'));
  assert.deepEqual(loaded, []);
});

test('a database that is not there is refused without telling the password, where nobody waits for it', async () => {
  const location = 'postgres://ann:s3cret@127.0.0.1:1/kgrid';
  await assert.rejects(openShelf(location, { isNode: false }), (thrown: Error) => {
    assert.match(thrown.message, /^--shelf: postgres:\/\/ann@127\.0\.0\.1:1\/kgrid cannot be reached \(ECONNREFUSED/);
    assert.doesNotMatch(thrown.message, /s3cret/);
    return true;
  });
});

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

test('what is done in a folder is refused for a shelf elsewhere, without telling the password', () => {
  assert.throws(() => folderOfShelf('postgres://ann:s3cret@db.example/kgrid'), {
    code: 'start-refused',
    message:
      '--shelf: postgres://ann@db.example:5432/kgrid is no folder, and this is done in folders only; back up a database with its own programs, such as pg_dump',
  });
});

test('an address of a database that lacks its colon is no folder', async () => {
  await assert.rejects(openShelf('postgres//ann:s3cret@db.example/kgrid'), {
    code: 'start-refused',
    message: /^--shelf: it looks like the address of a database, and lacks the colon: write it like postgres:/,
  });
});

for (const location of ['s3://key:s3cret@bucket/kgrid', 'mysql://ann:s3cret@db.example/kgrid'])
  test(`what is no folder is refused by its kind, and tells no secret: ${location.split(':')[0]}`, async () => {
    const refused = (thrown: unknown): boolean => {
      assert.ok(thrown instanceof Error);
      assert.match(thrown.message, /^--shelf: a shelf at (mysql|s3): cannot be opened: supported are a folder/);
      assert.doesNotMatch(thrown.message, /s3cret|@/);
      return true;
    };
    await assert.rejects(openShelf(location), refused);
  });
