import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../shelf/store/database.ts';
import { DatabaseError } from '../shelf/store/postgres/database-error.ts';
import { withLease } from './lease.ts';
import { onEachDatabase } from '../../test/support/fleet/fleet-database.ts';

onEachDatabase((fleet) => {
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
      await Promise.race([both.promise, wait(400)]);
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
    const { dialect } = database;
    const mayPass = (thrown: unknown): boolean => thrown instanceof DatabaseError && thrown.fault === 'unreachable';
    assert.equal(await withLease({ query, dialect, mayPass }, A, 'away', () => Promise.resolve('done')), 'done');
    const denied = { query: () => Promise.reject(new DatabaseError('permission', 'denied')), dialect, mayPass };
    await assert.rejects(
      withLease(denied, A, 'denied', () => Promise.resolve()),
      /denied/,
    );
  });

  test('what a node held that died is taken when its time is over', async () => {
    const { schema, now } = database.dialect;
    await database.query(`INSERT INTO ${schema}lease VALUES ('died', $1, ${now} + 300)`, [A]);
    assert.equal(await withLease(database, B, 'died', () => Promise.resolve('done')), 'done');
    const { rows } = await database.query(`SELECT 1 AS found FROM ${schema}lease WHERE name = 'died'`);
    assert.deepEqual(rows, []);
  });

  test('what a node held that died before the clock of the database was set back is taken', async () => {
    const { schema, now } = database.dialect;
    await database.query(`INSERT INTO ${schema}lease VALUES ('ahead', $1, ${now} + 3600000)`, [A]);
    let asked = 0;
    const query: Database['query'] = (...statement) =>
      ++asked > 3 ? Promise.reject(new Error('it is asked for again and again')) : database.query(...statement);
    const { dialect } = database;
    const done = await withLease({ query, dialect, mayPass: () => false }, B, 'ahead', () => Promise.resolve('done'));
    assert.equal(done, 'done');
  });
});
