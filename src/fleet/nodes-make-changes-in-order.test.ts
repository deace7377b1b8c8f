/** What one node asks for, each makes, once and in the order of the database. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../activation/activator.ts';
import type { About, ChangeOutcome } from '../activation/selection.ts';
import { type KoId, koKey } from '../knowledge-object/id.ts';
import { koNotFound, type ServiceError } from '../lib/errors.ts';
import { DatabaseError } from '../shelf/store/postgres/database-error.ts';
import { ActiveTable } from './active-table.ts';
import { SharedActivation } from './shared-activation.ts';
import { SharedKos } from './shared-kos.ts';
import { onEachDatabase } from '../../test/support/fleet/fleet-database.ts';

onEachDatabase((fleet) => {
  const { database } = fleet;
  const table = new ActiveTable(database);

  const id = (name: string, version = 'v1'): KoId => ({ naan: 'hello', name, version });

  /** A node whose endpoints are the packages that it took: what it made, in order. */
  class Node {
    readonly made: string[] = [];
    /** By key: digest. */
    active = new Map<string, string>();
    readonly kos = new SharedKos(table, fleet.shelf());
    failsWith: Error | undefined;
    readonly problems: unknown[] = [];
    readonly activation: SharedActivation;

    constructor() {
      this.activation = new SharedActivation({
        table,
        kos: this.kos,
        apply: (change, about) => this.#apply(change, about),
        reached: () => undefined,
        whenAllReached: () => Promise.resolve(),
        onProblem: (cause) => this.problems.push(cause),
      });
    }

    static async joined(): Promise<Node> {
      const node = new Node();
      const { generation } = await table.latest();
      await node.kos.catchUp();
      await node.#take();
      node.activation.begin(generation);
      return node;
    }

    async #apply(change: Change, about: About): Promise<ChangeOutcome> {
      if (this.failsWith !== undefined) throw this.failsWith;
      this.made.push(`${change} ${about.what}`);
      await this.#take();
      return { active: [], endpoints: 0, failed: [] };
    }

    async #take(): Promise<void> {
      this.active = new Map((await this.kos.list()).map((each) => [koKey(each.id), each.digest]));
    }
  }

  test('a reload makes active what lies on the shelf, on each node, and nothing else does', async () => {
    const [one, other] = [await Node.joined(), await Node.joined()];
    await fleet.put(id('welcome'), 'a1');
    assert.deepEqual([...one.active], []);
    await one.activation.order('reload', { what: 'ko', naan: 'hello', name: 'welcome' });
    await other.activation.follow(one.activation.generation);
    for (const node of [one, other]) assert.deepEqual([...node.active], [['hello/welcome/v1', 'a1']]);

    await fleet.put(id('welcome'), 'a2');
    await fleet.put(id('score'), 'b1');
    assert.deepEqual([...(await Node.joined()).active], [['hello/welcome/v1', 'a1']]);
    await other.activation.order('reload', { what: 'kos', kos: [id('score')] });
    await one.activation.follow(other.activation.generation);
    assert.deepEqual(
      one.active,
      new Map([
        ['hello/welcome/v1', 'a1'],
        ['hello/score/v1', 'b1'],
      ]),
    );

    await fleet.remove(id('score'));
    await other.activation.order('reload', { what: 'all' });
    await one.activation.follow(other.activation.generation);
    for (const node of [one, other]) assert.deepEqual([...node.active], [['hello/welcome/v1', 'a2']]);
    assert.deepEqual(one.made, other.made);
  });

  test('a refresh leaves packages as they are, takes what is new on the shelf and drops what left it', async () => {
    const node = await Node.joined();
    await fleet.put(id('refreshed'), 'r1');
    await fleet.put(id('leaving'), 'l1');
    await node.activation.order('reload', { what: 'kos', kos: [id('refreshed'), id('leaving')] });
    await fleet.put(id('refreshed'), 'r2');
    await fleet.put(id('arriving'), 'n1');
    await fleet.remove(id('leaving'));
    await node.activation.order('refresh', { what: 'all' });
    assert.equal(node.active.get('hello/refreshed/v1'), 'r1');
    assert.equal(node.active.get('hello/arriving/v1'), 'n1');
    assert.equal(node.active.has('hello/leaving/v1'), false);
  });

  test('a refresh of what was deleted ends it on all nodes, also on one that had nothing of it, and once more finds nothing', async () => {
    const [node, other] = [await Node.joined(), await Node.joined()];
    const about = { what: 'ko', naan: 'hello', name: 'ending', version: 'v1' } as const;
    await fleet.put(id('ending'), 'e1');
    await node.activation.order('reload', about);
    await other.activation.follow(node.activation.generation);
    await fleet.remove(id('ending'));
    // As the activator says where a KO could not be loaded, and is to go.
    node.failsWith = koNotFound('hello/ending/v1');
    assert.deepEqual(await node.activation.order('refresh', about), { active: [], endpoints: 0, failed: [] });
    await other.activation.follow(node.activation.generation);
    assert.equal(other.active.has('hello/ending/v1'), false);
    await assert.rejects(node.activation.order('refresh', about), /hello\/ending\/v1/);
  });

  test('numbers that come again are of another database, and all is made as that says', async () => {
    const node = await Node.joined();
    await fleet.put(id('again'), 'w1');
    await node.activation.order('reload', { what: 'kos', kos: [id('again')] });
    await node.activation.order('refresh', { what: 'all' });
    await database.query(`UPDATE ${fleet.schema}state SET generation = generation - 2`);
    await database.query(`DELETE FROM ${fleet.schema}active WHERE name = 'hello/again'`);
    await fleet.put(id('other'), 'o1');
    await node.activation.order('reload', { what: 'kos', kos: [id('other')] });
    assert.equal(node.made.at(-1), 'reload all');
    assert.deepEqual([node.active.has('hello/again/v1'), node.active.get('hello/other/v1')], [false, 'o1']);
    assert.deepEqual(node.activation.generation, (await table.latest()).generation);
  });

  test('a node that missed many changes makes one of them all', async () => {
    const [one, late] = [await Node.joined(), await Node.joined()];
    for (let i = 0; i < 60; i++) {
      await fleet.put(id(`many-${i}`), `m${i}`);
      await one.activation.order('reload', { what: 'kos', kos: [id(`many-${i}`)] });
    }
    await late.activation.follow(one.activation.generation);
    assert.deepEqual(late.made, ['reload all']);
    assert.deepEqual(new Map([...late.active].sort()), new Map([...one.active].sort()));
    assert.equal(late.activation.generation, one.activation.generation);
  });

  test('a node whose table of changes does not reach back makes all anew', async () => {
    const [one, late] = [await Node.joined(), await Node.joined()];
    await fleet.put(id('trimmed'), 't1');
    await one.activation.order('reload', { what: 'ko', naan: 'hello', name: 'trimmed' });
    await one.activation.order('refresh', { what: 'all' });
    await database.query(`DELETE FROM ${fleet.schema}activation WHERE generation < $1`, [one.activation.generation]);
    await late.activation.follow(one.activation.generation);
    assert.deepEqual(late.made, ['reload all']);
    assert.equal(late.active.get('hello/trimmed/v1'), 't1');
  });

  test('what asked at the same time on many nodes is made by all in one order', async () => {
    const nodes = await Promise.all(Array.from({ length: 5 }, () => Node.joined()));
    await Promise.all(
      nodes.map(async (node, i) => {
        await fleet.put(id(`same-${i}`), `s${i}`);
        await node.activation.order('reload', { what: 'kos', kos: [id(`same-${i}`)] });
        await node.activation.order('refresh', { what: 'engine', engine: 'javascript' });
      }),
    );
    const { generation } = await table.latest();
    for (const node of nodes) await node.activation.follow(generation);
    for (const node of nodes) {
      assert.deepEqual(node.made, nodes[0]?.made);
      assert.deepEqual(new Map([...node.active].sort()), new Map([...(nodes[0]?.active ?? [])].sort()));
    }
  });

  test('a KO that is neither on the shelf nor active is not found, and no generation comes of it', async () => {
    const node = await Node.joined();
    const before = await table.latest();
    await assert.rejects(
      node.activation.order('reload', { what: 'ko', naan: 'hello', name: 'nobody', version: 'v9' }),
      /hello\/nobody\/v9/,
    );
    assert.deepEqual(await table.latest(), before);
  });

  test('a change that fails on the node that was asked is told to who asked, and made there when it can be', async () => {
    const [node, other] = [await Node.joined(), await Node.joined()];
    await fleet.put(id('broken'), 'x1');
    node.failsWith = new Error('no memory left');
    await assert.rejects(node.activation.order('reload', { what: 'kos', kos: [id('broken')] }), /no memory left/);
    assert.equal(node.problems.length, 1);
    const { generation } = await table.latest();
    await other.activation.follow(generation);
    assert.equal(other.active.get('hello/broken/v1'), 'x1');
    node.failsWith = undefined;
    await node.activation.follow(generation);
    assert.equal(node.activation.generation, generation);
    assert.equal(node.active.get('hello/broken/v1'), 'x1');
  });

  test('a change that is kept, and cannot be made here yet, is told as that', async () => {
    const [node, other] = [await Node.joined(), await Node.joined()];
    await fleet.put(id('kept'), 'k1');
    const catchUp = node.kos.catchUp.bind(node.kos);
    node.kos.catchUp = () => Promise.reject(new DatabaseError('unreachable', 'ECONNREFUSED'));
    const { generation } = await table.latest();
    await assert.rejects(
      node.activation.order('reload', { what: 'kos', kos: [id('kept')] }),
      (thrown: ServiceError) => {
        assert.equal(thrown.code, 'outcome-unknown');
        assert.equal(thrown.status, 503);
        assert.ok(Number(thrown.headers['retry-after']) > 0);
        assert.match(thrown.message, new RegExp(`The reload is kept as generation ${String(generation + 1)} `));
        assert.match(thrown.message, /\/actuator\/fleet/);
        return true;
      },
    );
    await other.activation.follow(generation + 1);
    assert.equal(other.active.get('hello/kept/v1'), 'k1');
    node.kos.catchUp = catchUp;
    await node.activation.follow(generation + 1);
    assert.equal(node.active.get('hello/kept/v1'), 'k1');
  });

  test('all nodes sign with one key, that of the first', async () => {
    const keys = await Promise.all([1, 2, 3].map((byte) => table.callKey(Buffer.alloc(32, byte))));
    const [first] = keys;
    assert.equal(first?.length, 32);
    for (const key of [...keys, await table.callKey(Buffer.alloc(32, 4))]) assert.deepEqual(key, first);
  });
});
