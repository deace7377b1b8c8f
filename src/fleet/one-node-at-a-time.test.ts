import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Database } from '../shelf/postgres/database.ts';
import { DatabaseError } from '../shelf/postgres/database-error.ts';
import { withLease } from './lease.ts';
import { fleetDatabase } from './support/fleet-database.ts';

const fleet = await fleetDatabase();
after(() => fleet[Symbol.asyncDispose]());
const { database } = fleet;
const [A, B] = [crypto.randomUUID(), crypto.randomUUID()];

/** The most of two nodes that worked at a time. */
async function mostAtATime(names: readonly [string, string]): Promise<number> {
  let [working, most] = [0, 0];
  const both = Promise.withResolvers<void>();
  const work = async (): Promise<void> => {
    most = Math.max(most, ++working);
    if (working === 2) both.resolve();
    // Long enough for the other to come in, if it can.
    await Promise.race([both.promise, database.query('SELECT pg_sleep(0.4)')]);
    working--;
  };
  await Promise.all([withLease(database, A, names[0], work), withLease(database, B, names[1], work)]);
  return most;
}

test('two nodes never do the same work at the same time, and other work they do', async () => {
  assert.equal(await mostAtATime(['import', 'import']), 1);
  assert.equal(await mostAtATime(['import', 'something else']), 2);
});

test('a node that fails gives the work to another', async () => {
  await assert.rejects(
    withLease(database, A, 'fails', () => Promise.reject(new Error('no network'))),
    /no network/,
  );
  assert.equal(await withLease(database, B, 'fails', () => Promise.resolve('done')), 'done');
});

test('a node that cannot ask for the work waits until it can', async () => {
  let fails = 1;
  const query: Database['query'] = (...asked) =>
    fails-- > 0 ? Promise.reject(new DatabaseError('unreachable', 'ECONNREFUSED')) : database.query(...asked);
  const { schema } = database;
  assert.equal(await withLease({ query, schema }, A, 'away', () => Promise.resolve('done')), 'done');
  await assert.rejects(
    withLease({ query: () => Promise.reject(new DatabaseError('permission', 'denied')), schema }, A, 'denied', () =>
      Promise.resolve(),
    ),
    /denied/,
  );
});

test('what a node held that died is taken when its time is over', async () => {
  const { schema } = database;
  await database.query(`INSERT INTO ${schema}.lease VALUES ('died', $1, clock_timestamp() + interval '300 ms')`, [A]);
  assert.equal(await withLease(database, B, 'died', () => Promise.resolve('done')), 'done');
  const { rows } = await database.query(`SELECT 1 FROM ${schema}.lease WHERE name = 'died'`);
  assert.deepEqual(rows, []);
});
