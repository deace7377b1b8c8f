import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import { Heartbeat, Nodes } from './nodes.ts';
import { onEachDatabase } from '../../test/support/fleet/fleet-database.ts';

onEachDatabase((fleet) => {
  const { database } = fleet;
  const nodes = new Nodes(database);

  interface Facts {
    readonly name: string;
    readonly silentFor: number;
  }

  /** Seconds since it was heard. @returns what makes it heard. */
  async function join({ name, silentFor }: Facts): Promise<Heartbeat> {
    const node = { id: randomUUID(), joined: Date.now(), name, address: '', version: '', settings: {} };
    const beat = new Heartbeat({
      database,
      node: () => node,
      state: () => ({ revision: 1, generation: 1, failures: [] }),
      onFleet: () => undefined,
      onTaken: () => assert.fail('nobody else has its id'),
      onProblem: (cause) => assert.fail(String(cause)),
    });
    await beat.beat();
    await database.query(`UPDATE ${fleet.schema}node SET heartbeat = ${database.dialect.now} - $2 WHERE id = $1`, [
      ...[node.id, silentFor * 1000],
    ]);
    return beat;
  }

  beforeEach(() => database.query(`DELETE FROM ${fleet.schema}node`));

  test('who was heard until the database went away is waited for once it is back, before and after the first is heard again', async () => {
    const first = await join({ name: 'first', silentFor: 7 });
    await join({ name: 'second', silentFor: 8 });
    await join({ name: 'died before', silentFor: 20 });
    assert.deepEqual(await nodes.behind(2), ['first', 'second']);
    await first.beat();
    assert.deepEqual(await nodes.behind(2), ['first', 'second']);
  });

  test('whoever is not heard again for as long as a node may be silent is not waited for any more', async () => {
    const first = await join({ name: 'first', silentFor: 7 });
    await join({ name: 'second', silentFor: 8 });
    await first.beat();
    await database.query(`UPDATE ${fleet.schema}node SET heard_again = heard_again - 6000`);
    assert.deepEqual(await nodes.behind(2), ['first']);
  });

  test('where others are heard, who is not is not waited for, nor after a silence of more than a minute', async () => {
    await join({ name: 'lives', silentFor: 0 });
    await join({ name: 'silent', silentFor: 7 });
    assert.deepEqual(await nodes.behind(2), ['lives']);
    await database.query(`UPDATE ${fleet.schema}node SET heartbeat = heartbeat - 80000`);
    assert.deepEqual(await nodes.behind(2), []);
  });

  test('who died before the clock of the database was set back is not waited for, and who lives is', async () => {
    const lives = await join({ name: 'lives', silentFor: 0 });
    await join({ name: 'died', silentFor: -3600 });
    await lives.beat();
    await database.query(`UPDATE ${fleet.schema}node SET heartbeat = heartbeat - 6000 WHERE name = 'died'`);
    assert.deepEqual(await nodes.behind(2), ['lives']);
  });
});
