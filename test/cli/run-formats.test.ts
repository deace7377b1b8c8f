/** `kgrid run` with Parquet in and out, and all formats together, at a running service. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parquetReadObjects } from 'hyparquet';
import type { SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import type { ColumnSource } from 'hyparquet-writer';
import { startService } from '../acceptance/support/service.ts';
import { cohortKo, people } from './cohort.ts';
import { kgrid, temporaryFolder } from './kgrid.ts';
import type { Ended } from './kgrid.ts';

const shelf = await temporaryFolder();
await cohortKo(shelf.path);
const service = await startService({ shelf: shelf.path });
const folder = await temporaryFolder();
after(async () => {
  await service[Symbol.asyncDispose]();
  await shelf[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const ENDPOINT = 'test/cohort/1.0/score';

const run = (...args: string[]): Promise<Ended> =>
  kgrid(['run', ENDPOINT, ...args], { cwd: folder.path, env: { KGRID_URL: service.url } });
const put = (name: string, bytes: string | Uint8Array): Promise<void> => writeFile(join(folder.path, name), bytes);
const parquet = (options: Parameters<typeof parquetWriteBuffer>[0]): Buffer => Buffer.from(parquetWriteBuffer(options));

async function rowsOf(name: string): Promise<Record<string, unknown>[]> {
  const { buffer, byteOffset, length } = await readFile(join(folder.path, name));
  return parquetReadObjects({ file: buffer.slice(byteOffset, byteOffset + length) });
}

const cohort = (many: number): Buffer =>
  parquet({
    rowGroupSize: 700,
    columnData: [
      { name: 'id', data: Array.from({ length: many }, (_, i) => `p${i}`), type: 'STRING' },
      { name: 'age', data: Array.from({ length: many }, (_, i) => (i % 100 === 99 ? -1 : i % 90)), type: 'INT32' },
      { name: 'note', data: Array.from({ length: many }, () => 'n'), type: 'STRING' },
    ],
  });

test('columns of each type are the inputs that they name', async () => {
  const optional = { repetition_type: 'OPTIONAL' } as const;
  const schema: SchemaElement[] = [
    { name: 'root', num_children: 8 },
    { name: 'id', type: 'INT64', ...optional },
    { name: 'age', type: 'BYTE_ARRAY', converted_type: 'UTF8', ...optional },
    { name: 'weight', type: 'INT64', converted_type: 'DECIMAL', precision: 12, scale: 1, ...optional },
    { name: 'smoker', type: 'BOOLEAN', ...optional },
    { name: 'drugs', converted_type: 'LIST', num_children: 1, ...optional },
    { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
    { name: 'element', type: 'BYTE_ARRAY', converted_type: 'UTF8', ...optional },
    { name: 'lab', num_children: 1, ...optional },
    { name: 'a1c', type: 'DOUBLE', ...optional },
    { name: 'born', type: 'INT32', converted_type: 'DATE', ...optional },
    {
      name: 'seen',
      type: 'INT64',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
      ...optional,
    },
  ];
  const columnData: ColumnSource[] = [
    { name: 'id', data: [2n ** 60n, 7n, null, 9n] },
    { name: 'age', data: ['50', '', null, 'fifty'] },
    { name: 'weight', data: [3n, null, -805n, 10n] },
    { name: 'smoker', data: [true, null, false, true] },
    { name: 'drugs', data: [['aspirin', null], null, [], ['x']] },
    { name: 'lab', data: [{ a1c: 6.1 }, null, { a1c: null }, { a1c: Number.NaN }] },
    { name: 'born', data: [19782, null, -1, 0] },
    { name: 'seen', data: [1n, null, -1_500_000n, 0n] },
  ];
  await put('types.parquet', parquet({ schema, columnData }));
  const { code, stdout, stderr } = await run('types.parquet', '--join', '--map', 'id=id');
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^Not sent, since no input has the name: born, seen$/m);
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { born?: string; seen?: string; result: { seen: object } });
  assert.deepEqual(
    lines.map(({ result }) => result.seen),
    [
      { id: '1152921504606846976', age: 50, weight: 0.3, smoker: true, drugs: ['aspirin', null], lab: { a1c: 6.1 } },
      { id: '7', age: '' },
      { weight: -80.5, smoker: false, drugs: [], lab: {} },
      { id: '9', age: 'fifty', weight: 1, smoker: true, drugs: ['x'], lab: {} },
    ],
  );
  assert.deepEqual(
    lines.map(({ born, seen }) => [born, seen]),
    [
      ['2024-02-29', '1970-01-01T00:00:00.000001Z'],
      [undefined, undefined],
      ['1969-12-31', '1969-12-31T23:59:58.5Z'],
      ['1970-01-01', '1970-01-01T00:00:00Z'],
    ],
  );
});

test('results are columns of their types, and what does not fit is the failure of its record', async () => {
  const ids = ['{"id":"a","age":1}', '{"id":7,"age":2}', '{"id":"c","age":-1}', '{"age":4}'].join('\n');
  await put('in.ndjson', ids);
  const { code, stdout } = await run('in.ndjson', '-o', 'typed.parquet', '--id-column', 'id');
  assert.equal(code, 1, stdout);
  assert.deepEqual(await rowsOf('typed.parquet'), [
    { id: 'a', 'result.id': 'a', score: 2, seen: '{"id":"a","age":1}' },
    { id: null, 'result.id': null, score: 8, seen: '{"age":4}' },
  ]);
  const failed = await readFile(join(folder.path, 'typed.parquet.failed.ndjson'), 'utf8');
  assert.match(failed, /^\{"line":2,"id":7,.*result\.id is 7, and its schema says string: --to ndjson/m);
  assert.match(failed, /^\{"line":3,/m);
});

test('CSV, Parquet and pipes give the same results, and --resume goes on between row groups', async () => {
  await put('in.csv', people(3000));
  await put('in.parquet', cohort(3000));
  await run('in.csv', '-o', 'of-csv.parquet', '--id-column', 'id');
  await run('in.parquet', '-o', 'of-parquet.parquet', '--id-column', 'id');
  const ofCsv = await rowsOf('of-csv.parquet');
  assert.deepEqual(await rowsOf('of-parquet.parquet'), ofCsv);
  assert.equal(ofCsv.length, 2970);

  await run('in.parquet', '-o', 'plain.csv', '--join');
  await run('in.csv', '-o', 'plain2.csv', '--join');
  const [first, second] = await Promise.all(
    ['plain.csv', 'plain2.csv'].map((name) => readFile(join(folder.path, name), 'utf8')),
  );
  assert.equal(first?.replaceAll(',n,', ',').replace(',note,', ','), second);

  const stopped = await run('in.parquet', '-o', 'torn.parquet', '--id-column', 'id', '--max-failures', '16');
  assert.match(stopped.stderr, /^1700 records of in\.parquet are done and kept/m);
  const other = await run('in.parquet', '-o', 'torn.parquet', '--id-column', 'note', '--resume');
  assert.match(other.stderr, /another --id-column gives other results/);
  assert.equal((await run('in.parquet', '-o', 'torn.parquet', '--id-column', 'id', '--resume')).code, 1);
  const [torn, good] = await Promise.all(
    ['torn.parquet', 'of-parquet.parquet'].map((name) => readFile(join(folder.path, name))),
  );
  assert.ok(good !== undefined && torn?.equals(good));
});

test('a file that is no whole Parquet file does nothing, and says what is wrong', async () => {
  const good = cohort(2000);
  const twice: SchemaElement[] = [
    { name: 'root', num_children: 2 },
    { name: 'age', type: 'INT32', repetition_type: 'REQUIRED' },
    { name: 'age', type: 'INT32', repetition_type: 'REQUIRED' },
  ];
  const twoAges = parquet({
    schema: twice,
    columnData: [
      { name: 'age', data: [1] },
      { name: 'age', data: [2] },
    ],
  });
  const wrongEnd = Buffer.from(good);
  wrongEnd.fill(0xff, good.length - 300, good.length - 8);
  const cases: [string, Uint8Array, RegExp][] = [
    ['nothing', Buffer.alloc(0), /^bad\.parquet is empty$/m],
    ['half', good.subarray(0, good.length / 2), /^bad\.parquet is not whole: .*its end is missing$/m],
    ['only its beginning', Buffer.from('PAR1'), /^bad\.parquet is not whole/m],
    [
      'no Parquet',
      Buffer.from('id,age\na,1\n'),
      /^bad\.parquet is no Parquet file: say what it is, such as --from csv/m,
    ],
    ['encrypted', Buffer.concat([good.subarray(0, -4), Buffer.from('PARE')]), /^bad\.parquet is encrypted/m],
    [
      'a middle that is missing',
      Buffer.concat([good.subarray(0, 4), good.subarray(-900)]),
      /^bad\.parquet is damaged: /m,
    ],
    ['an end that is overwritten', wrongEnd, /^bad\.parquet is damaged: /m],
    ['a column twice', twoAges, /^bad\.parquet: the column age stands there twice, as columns 1 and 2: rename one$/m],
  ];
  for (const [what, bytes, expected] of cases) {
    await put('bad.parquet', bytes);
    const { code, stderr } = await run('bad.parquet', '-o', 'bad-out.parquet');
    assert.match(stderr, expected, what);
    assert.equal(code, 2, what);
  }
  const piped = await run('-', '--from', 'parquet');
  assert.match(piped.stderr, /^Parquet is read from its end: write standard input to a file first$/m);
});

test('any delimiter and any of the formats go together with --map, --join and --id-column', async () => {
  const read = (name: string): Promise<string> => readFile(join(folder.path, name), 'utf8');
  const people = ['{"person":{"id":"a"},"years":3}', '{"person":{"id":"b, \\"B\\""},"years":-1}', '{"years":4}'];
  await put('mixed.ndjson', people.join('\n'));
  const maps = ['--map', 'age=years', '--map', 'id=person.id'];
  await run('mixed.ndjson', '-o', 'mixed.tsv', ...maps, '--id-column', 'person.id');
  assert.equal(
    await read('mixed.tsv'),
    'person.id\tid\tscore\tseen\n' +
      'a\ta\t6\t"{""person"":{""id"":""a""},""age"":3,""id"":""a""}"\n' +
      '\t\t8\t"{""age"":4}"\n',
  );
  assert.match(await read('mixed.tsv.failed.ndjson'), /"line":2,"person\.id":"b, \\"B\\""/);
  await put('semicolons.csv', 'name;years\n"a;\n1";3\nb;4\n');
  const options = ['semicolons.csv', '--delimiter', ';', '--map', 'age=years', '--join'];
  const { stdout: csv } = await run(...options);
  assert.equal(csv, 'name;years;id;score;seen\n"a;\n1";3;;6;"{""age"":3}"\nb;4;;8;"{""age"":4}"\n');
  const first = { name: 'a;\n1', years: '3' };
  const { stdout: ndjson } = await run(...options, '--to', 'ndjson');
  assert.deepEqual(JSON.parse(ndjson.split('\n')[0] ?? ''), { ...first, result: { score: 6, seen: { age: 3 } } });
  await run(...options, '-o', 'semicolons.parquet');
  assert.deepEqual((await rowsOf('semicolons.parquet'))[0], { ...first, id: null, score: 6, seen: '{"age":3}' });
});
