/** What is held in memory is level with the database after one look, however much changed. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import type { Database, Query } from './database.ts';
import { migrate } from './schema.ts';
import { ShelfFollower } from './shelf-follower.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';
import { PAGE, StoredKos } from './stored-kos.ts';
import { advance, readState } from './state.ts';

test('more changes than one statement reads are all known after one look', async () => {
  await using folder = await temporaryFolder();
  await using database = await SqliteDatabase.open(join(folder.path, 'shelf.db'));
  await migrate(database, folder.path);
  const kos = new StoredKos();
  await using follower = new ShelfFollower({ database, kos, onWarning: () => undefined });
  await follower.start();
  const many = 2 * PAGE + 1;
  await database.transaction(async ({ query }) => {
    await query(`INSERT INTO package (digest, files, size, stored) VALUES ('d', '[]', 0, 0)`);
    await query(
      `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $1)
        INSERT INTO ko (id, name, digest, metadata, etag, revision, removed)
        SELECT 'a/b/v' || n, 'a/b', 'd', '{}', '"e"', n, 0 FROM n`,
      [many],
    );
    await advance(query, database.dialect, await readState(query, database.dialect), 'revision', many);
  });
  await follower.look();
  assert.equal(kos.list().length, many);
  assert.deepEqual(follower.reached, { revision: many, generation: 0 });
});

test('a look whose answer was under way when this process made a change does not take it for another history', async () => {
  await using folder = await temporaryFolder();
  await using database = await SqliteDatabase.open(join(folder.path, 'shelf.db'));
  await migrate(database, folder.path);
  const kos = new StoredKos();
  let meanwhile: (() => Promise<void>) | undefined;
  const slow: Pick<Database, 'dialect' | 'follow'> = {
    dialect: database.dialect,
    follow: (look) => {
      const query: Query = async (sql, values) => {
        const answer = await database.query(sql, values);
        await meanwhile?.();
        return answer as never;
      };
      return database.follow(() => look(query));
    },
  };
  await using follower = new ShelfFollower({ database: slow as Database, kos, onWarning: () => undefined });
  follower.onOtherHistory = (why) => assert.fail(why);
  await follower.start();
  meanwhile = () =>
    database.transaction(async ({ query }) => {
      meanwhile = undefined;
      const { schema } = database.dialect;
      await query(`INSERT INTO ${schema}package (digest, files, size, stored) VALUES ('d', '[]', 0, 0)`);
      const row = {
        id: 'a/b/v1',
        digest: 'd',
        metadata: '{}',
        at_id: null,
        etag: '"e"',
        folder: null,
        revision: 1,
        removed: 0,
      };
      await query(
        `INSERT INTO ${schema}ko (id, name, digest, metadata, etag, revision, removed) VALUES ('a/b/v1', 'a/b', 'd', '{}', '"e"', 1, 0)`,
      );
      const state = await advance(query, database.dialect, await readState(query, database.dialect), 'revision');
      assert.ok(follower.take(row, state));
    });
  await follower.look();
  await follower.look();
  assert.deepEqual(follower.reached, { revision: 1, generation: 0 });
  assert.equal(kos.list().length, 1);
});
