/** Wherever a run that writes Parquet is torn, what it goes on with gives the same file. */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parquetReadObjects } from 'hyparquet';
import { temporaryFolder } from '../../test/cli/kgrid.ts';
import type { Kept } from './output.ts';
import { parquetColumns, ParquetOutput, PartFolder } from './parquet-output.ts';
import { filesOf, type RunState, START } from './run-files.ts';
import { ResultColumns, SchemaNode } from './schema-fields.ts';

const ROWS = 14;
const GROUP_ROWS = 5;
const SCHEMA = { properties: { name: { type: 'string' }, score: { type: 'number' }, list: { type: 'array' } } };

const answerOf = (row: number): string =>
  JSON.stringify({ result: { name: row % 3 === 0 ? null : `ü${row}`, score: row / 4, list: [row] } });

async function openAt(folder: string, state: Kept): Promise<ParquetOutput> {
  const files = filesOf(join(folder, 'out.parquet'));
  await mkdir(files.folder, { recursive: true });
  const results = new ResultColumns(new SchemaNode({}, SCHEMA), ['line']);
  const columns = parquetColumns(['line'], ['integer'], results.columns);
  const store = new PartFolder(files, state.parts);
  return new ParquetOutput(columns, results, store, await store.goOn(state), GROUP_ROWS);
}

/** Adds rows up to one, keeps now and then, and is torn after `tearAt`, where the journal may not know yet what was kept. */
async function write(folder: string, from: RunState, tearAt: number, knows: boolean): Promise<RunState> {
  await using closed = new AsyncDisposableStack();
  const output = await openAt(folder, from);
  closed.defer(() => output.close());
  let state = from;
  for (let row = from.records; row < ROWS; row++) {
    output.add(answerOf(row), [row]);
    if (row % 4 === 3 || row === tearAt) {
      const kept = await output.keep();
      if (row === tearAt && !knows) return state;
      state = { ...from, ...kept, records: row + 1 };
      await output.settled();
    }
    if (row === tearAt) return state;
  }
  await output.finish();
  return state;
}

test('torn after any row, with or without the journal knowing, it goes on to the same bytes', async () => {
  await using good = await temporaryFolder();
  await write(good.path, START, -1, true);
  const results = 'out.parquet.run/results';
  const expected = await readFile(join(good.path, results));
  const { buffer, byteOffset, length } = expected;
  const rows = await parquetReadObjects({ file: buffer.slice(byteOffset, byteOffset + length) });
  assert.deepEqual(
    rows,
    Array.from({ length: ROWS }, (_, row) => ({
      line: BigInt(row),
      name: row % 3 === 0 ? null : `ü${row}`,
      score: row / 4,
      list: `[${row}]`,
    })),
  );
  for (let tearAt = 0; tearAt < ROWS; tearAt++) {
    for (const knows of [true, false]) {
      await using folder = await temporaryFolder();
      const state = await write(folder.path, START, tearAt, knows);
      const again = await write(folder.path, state, ROWS - 2, false);
      await write(folder.path, again, -1, true);
      assert.ok(expected.equals(await readFile(join(folder.path, results))), `torn after row ${tearAt}`);
    }
  }
  const left = await readdir(join(good.path, 'out.parquet.run'));
  assert.deepEqual(
    left.filter((name) => name.startsWith('part-0')),
    ['part-0.parquet'],
    'text that became a part is gone',
  );
});

test('without a row it is a whole file too', async () => {
  await using folder = await temporaryFolder();
  const output = await openAt(folder.path, START);
  await output.finish();
  const { buffer, byteOffset, length } = await readFile(join(folder.path, 'out.parquet.run/results'));
  assert.deepEqual(await parquetReadObjects({ file: buffer.slice(byteOffset, byteOffset + length) }), []);
});
