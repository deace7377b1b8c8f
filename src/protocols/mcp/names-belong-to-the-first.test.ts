import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { Database, Query } from '../../shelf/store/database.ts';
import { ToolNames } from './tool-names.ts';

interface Line {
  readonly event: string;
}

const endpointOf = (ko: string, mcpName?: string, name = 'run'): Endpoint =>
  ({
    ...{ id: `a/${ko}/1.0/${name}`, address: `a/${ko}/${name}`, name, activated: '' },
    ...{ entry: { mcpName }, ko: { id: { naan: 'a', name: ko, version: 'v1.0' }, key: `a/${ko}/v1.0` } },
  }) as unknown as Endpoint;

/** A store whose first transactions fail, as many as are said. */
function storeOf(fails: number): { database: Database; rows: Map<string, string> } {
  const rows = new Map<string, string>();
  let left = fails;
  const query = ((sql: string, values: readonly string[] = []) => {
    const [name = '', owner = ''] = values;
    if (sql.startsWith('INSERT') && !rows.has(name)) rows.set(name, owner);
    return Promise.resolve({ rows: [...rows].map(([n, o]) => ({ name: n, owner: o })), count: rows.size });
  }) as unknown as Query;
  const database = {
    dialect: { schema: '', now: '0' },
    transaction: async (work: (transaction: { query: Query }) => Promise<unknown>) => {
      if (left-- > 0) throw new Error('database is locked');
      return work({ query });
    },
  } as unknown as Database;
  return { database, rows };
}

const namesIn = (database: Database | undefined): { names: ToolNames; lines: Line[] } => {
  const lines: Line[] = [];
  const log = { warn: (line: Line) => void lines.push(line) };
  return { names: new ToolNames({ database, log: log as never }), lines };
};

test('a name that the store could not take stays whose it is, and is kept later', async () => {
  const { database, rows } = storeOf(1);
  const { names, lines } = namesIn(database);
  const first = endpointOf('first', 'score');
  assert.equal((await names.of([first]))[0]?.name, 'score');
  assert.deepEqual([lines.map(({ event }) => event), rows.size], [['tool-names-not-kept'], 0]);
  const found = await names.of([first, endpointOf('other'), endpointOf('second', 'score')]);
  assert.deepEqual(
    found.map(({ name, endpoint }) => [endpoint.address, name.replace(/_[0-9a-f]{10}$/, '_#')]),
    [
      ['a/first/run', 'score'],
      ['a/other/run', 'other_run'],
      ['a/second/run', 'score_#'],
    ],
  );
  assert.equal(rows.get('score'), 'a/first/run');
});

test('a name is that of the store, also after a start, and one who takes a hashed name in advance gains nothing', async () => {
  const { database } = storeOf(0);
  const first = endpointOf('first', 'score');
  await namesIn(database).names.of([first]);
  const again = namesIn(database).names;
  const second = endpointOf('second', 'score');
  const [taken] = await again.of([second]);
  const hashed = taken?.name ?? '';
  assert.match(hashed, /^score_[0-9a-f]{10}$/);
  const other = namesIn(storeOf(0).database).names;
  await other.of([endpointOf('thief', hashed)]);
  await other.of([first]);
  const found = await other.of([endpointOf('thief', hashed), first, second]);
  assert.equal(new Set(found.map(({ name }) => name)).size, 3);
});

test('names are made of at most 64 characters that assistants take', async () => {
  const { names } = namesIn(undefined);
  const found = await names.of([
    endpointOf('a.b', undefined, 'c/d'),
    endpointOf('x'.repeat(64), undefined, 'y'.repeat(64)),
  ]);
  assert.deepEqual(found[0]?.name, 'a_b_c_d');
  for (const { name } of found) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
});
