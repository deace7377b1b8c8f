/** A node whose state folder was copied finds that out, and nothing else changes what runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeId } from '../shelf/store/nodes.ts';
import { ActiveTable } from './active-table.ts';
import { enterFleet } from './enter-fleet.ts';
import { Heartbeat } from './nodes.ts';
import { onEachDatabase } from '../../test/support/fleet/fleet-database.ts';

onEachDatabase((fleet) => {
  const { database } = fleet;

  async function enter(
    node: NodeId,
    address: string,
  ): Promise<{ readonly generation: number; readonly beat: Heartbeat }> {
    const facts = { name: 'host', address, version: '', settings: {} };
    const { generation, name, joined } = await enterFleet(fleet.shelf(node), new ActiveTable(database), facts);
    const beat = new Heartbeat({
      database,
      node: () => ({ ...facts, name, joined, id: node.value }),
      state: () => ({ revision: 0, generation, failures: [] }),
      onFleet: () => undefined,
      onTaken: () => node.renew(),
      onProblem: (cause) => assert.fail(String(cause)),
    });
    return { generation, beat };
  }
  const addresses = async (): Promise<Record<string, string>> => {
    const { rows } = await database.query(`SELECT id, address FROM ${fleet.schema}node`);
    return Object.fromEntries(rows.map(({ id, address }) => [String(id), String(address)]));
  };

  test('of two nodes with one id the one that was there takes another, and no node overwrites another', async () => {
    const id = crypto.randomUUID();
    const [first, second] = [new NodeId(id), new NodeId(id)];
    const elder = await enter(first, 'there');
    await elder.beat.beat();
    const copy = await enter(second, 'elsewhere');
    assert.equal(copy.generation, elder.generation, 'it joins a fleet that runs');
    await elder.beat.beat();
    await copy.beat.beat();
    assert.equal(second.value, id);
    assert.notEqual(first.value, id);
    assert.deepEqual(await addresses(), { [first.value]: 'there', [id]: 'elsewhere' });
    // What ends takes its own place along.
    await elder.beat.end();
    await copy.beat.end();
    assert.deepEqual(await addresses(), {});
  });

  test('a node whose tables a newer program finished while it started does not join', async () => {
    await database.query(
      `INSERT INTO ${fleet.schema}schema_step (step, program, prepared, finished) VALUES (99, 'newer', 1, 1)`,
    );
    try {
      await assert.rejects(enter(new NodeId(), 'late'), /is of a newer activator \(its schema has 99 steps/);
      assert.deepEqual(await addresses(), {});
    } finally {
      await database.query(`DELETE FROM ${fleet.schema}schema_step WHERE step = 99`);
    }
  });

  test('a node that is started again where it was takes its place, as the first of a fleet where it is alone', async () => {
    const id = new NodeId();
    const { generation } = await enter(id, 'there');
    const again = await enter(id, 'there');
    assert.equal(again.generation, generation + 1);
    await again.beat.beat();
    assert.deepEqual(await addresses(), { [id.value]: 'there' });
    await again.beat.end();
  });
});
