/** `kgrid run` at a running service, and without one. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { startService } from '../acceptance/support/service.ts';
import { cohortKo, people } from './cohort.ts';
import { kgrid, temporaryFolder } from './kgrid.ts';
import type { Ended } from './kgrid.ts';

const shelf = await temporaryFolder();
const ko = await cohortKo(shelf.path);
const service = await startService({ shelf: shelf.path });
after(async () => {
  await service[Symbol.asyncDispose]();
  await shelf[Symbol.asyncDispose]();
});
const env = { KGRID_URL: service.url };
const ENDPOINT = 'test/cohort/1.0/score';

interface Ran extends Ended {
  readonly files: Readonly<Record<string, string>>;
}

/** Runs it in a folder with these files, and gives all that are there then. */
async function run(files: Readonly<Record<string, string | Buffer>>, ...args: string[]): Promise<Ran> {
  await using folder = await temporaryFolder();
  // Awaited here: the folder must outlive it.
  return await runIn(folder.path, files, args);
}

async function runIn(
  cwd: string,
  files: Readonly<Record<string, string | Buffer>>,
  args: readonly string[],
): Promise<Ran> {
  for (const [name, content] of Object.entries(files)) await writeFile(join(cwd, name), content);
  const ended = await kgrid(['run', ...args], { cwd, env });
  const left: Record<string, string> = {};
  for (const entry of await readdir(cwd, { withFileTypes: true }))
    if (entry.isFile()) left[entry.name] = await readFile(join(cwd, entry.name), 'utf8');
  return { ...ended, files: left };
}

test('text of a CSV becomes what the schema says, an empty cell is absent, and what does not fit stays text', async () => {
  const csv = [
    'id,age,weight,smoker,drugs,lab.a1c,ward',
    '007,50,80.50,TRUE,"[""aspirin"",""ibuprofen""]",6.1,A',
    '8,fifty,,no,aspirin,,B',
    '9,9007199254740993,1e3,false,[broken,,',
  ].join('\r\n');
  const { code, stderr, files } = await run({ 'in.csv': csv }, ENDPOINT, 'in.csv', '-o', 'out.ndjson');
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^Not sent, since no input has the name: ward$/m);
  const seen = (files['out.ndjson'] ?? '')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { line: number; result: { seen: object } });
  assert.deepEqual(
    seen.map(({ line, result }) => [line, result.seen]),
    [
      [2, { id: '007', age: 50, weight: 80.5, smoker: true, drugs: ['aspirin', 'ibuprofen'], lab: { a1c: 6.1 } }],
      [3, { id: '8', age: 'fifty', smoker: 'no', drugs: 'aspirin' }],
      [4, { id: '9', age: '9007199254740993', weight: 1000, smoker: false, drugs: '[broken' }],
    ],
  );
});

test('results have the columns of the response schema, and failures a file of their own with line and reason', async () => {
  const csv = 'name,years,note\n"a, ""A""",1,"x\r\ny"\nb,-1,z\n\nc,3\nd,4,w\n';
  const maps = ['--map', 'id=name', '--map', 'age=years'];
  const { code, stdout, files } = await run({ 'in.csv': csv }, ENDPOINT, 'in.csv', '-o', 'out.csv', ...maps, '--join');
  assert.equal(code, 1);
  assert.match(stdout, /^4 records: 2 with a result, 2 failed/);
  assert.equal(
    files['out.csv'],
    'name,years,note,id,score,seen\n' +
      '"a, ""A""",1,"x\r\ny","a, ""A""",2,"{""id"":""a, \\""A\\"""",""age"":1}"\n' +
      'd,4,w,d,8,"{""id"":""d"",""age"":4}"\n',
  );
  const failed = (files['out.csv.failed.ndjson'] ?? '')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  assert.deepEqual(
    failed.map((each) => ({ ...each, title: undefined })),
    [
      {
        line: 4,
        status: 500,
        title: undefined,
        reason: 'Code execution error: Error: age must not be below 0',
      },
      { line: 6, status: 400, title: undefined, reason: 'The record has 2 values, and the header names 3 columns' },
    ],
  );
  const named = await run({ 'in.csv': csv }, ENDPOINT, 'in.csv', '-o', 'out.csv', ...maps, '--id-column', 'name');
  assert.match(named.files['out.csv'] ?? '', /^name,id,score,seen\n/);
  assert.match(named.files['out.csv.failed.ndjson'] ?? '', /"line":4,"name":"b"/);
});

test('NDJSON is sent as it is, and comes and goes by pipes', async () => {
  const input = '\ufeff{"id":"a","age":1}\r\n\n{"age":\n{"id":"b","age":9007199254740992}';
  const ended = await kgrid(['run', ENDPOINT, '-', '--from', 'ndjson'], { env, input });
  assert.equal(ended.code, 1);
  const [first = '', second = ''] = ended.stdout.trim().split('\n');
  assert.deepEqual(
    [JSON.parse(first), (JSON.parse(second) as { line: number }).line],
    [{ line: 1, result: { id: 'a', score: 2, seen: { id: 'a', age: 1 } } }, 4],
  );
  assert.match(ended.stderr, /^\{"line":3,"status":400,.*not JSON/m);
});

test('a knowledge object runs without a service, with the same results', async () => {
  const there = await run({ 'in.csv': people(500) }, ENDPOINT, 'in.csv', '-o', 'out.csv');
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'in.csv'), people(500));
  const here = await kgrid(['run', 'score', 'in.csv', '-o', 'out.csv', '--ko', ko], { cwd: folder.path });
  assert.deepEqual([there.code, here.code], [1, 1], here.stderr);
  for (const name of ['out.csv', 'out.csv.failed.ndjson'])
    assert.equal(await readFile(join(folder.path, name), 'utf8'), there.files[name]);
});

test('a wrong call does nothing, and says what is wrong, where and what to do', async () => {
  const good = 'id,age\na,1\n';
  const cases: [string, string | Buffer, string[], RegExp][] = [
    [
      'duplicate headers',
      'id,age,id\n',
      [],
      /^in\.csv:1: the column id stands there twice, as columns 1 and 3: rename one$/m,
    ],
    [
      'a wrong delimiter',
      'id;age\na;1\n',
      [],
      /^in\.csv:1: the header is one column, "id;age": .* say --delimiter ';'$/m,
    ],
    [
      'no input among the columns',
      'x,y\n1,2\n',
      [],
      /^No column of in\.csv is an input: it has x, y, and the inputs are id, age, /m,
    ],
    [
      'a quote that stays open',
      'id,age\n"b,2\nc,3\n',
      [],
      /^in\.csv:2: a quote that opens in this record is never closed/m,
    ],
    ['a quote within a value', 'id,age\na"b,1\n', [], /^in\.csv:2: a quote stands in the middle of a value/m],
    ['no UTF-8', Buffer.from('id,age\na,1\nb\xe4,2\n', 'latin1'), [], /^in\.csv is no UTF-8 text, at line 3 .*iconv/m],
    ['nothing', '', [], /^in\.csv is empty: its first line has to name the columns$/m],
    [
      'an unknown column',
      good,
      ['--map', 'age=years'],
      /^--map age=years: in\.csv has no column years; it has id, age$/m,
    ],
    ['an unknown id', good, ['--id-column', 'none'], /^--id-column: in\.csv has no column none/m],
    ['no number', good, ['--concurrency', '0'], /^--concurrency 0: it is a whole number from 1 to 64$/m],
    ['an unknown format', good, ['--to', 'xlsx'], /^--to xlsx: it is one of csv, ndjson, parquet$/m],
    ['an output without a folder', good, ['-o', 'none/out.csv'], /out\.csv/],
  ];
  for (const [what, content, args, expected] of cases) {
    const output = args.includes('-o') ? [] : ['-o', 'out.csv'];
    const { code, stderr, files } = await run({ 'in.csv': content }, ENDPOINT, 'in.csv', ...output, ...args);
    assert.match(stderr, expected, what);
    assert.deepEqual([code, Object.keys(files)], [2, ['in.csv']], `${what}: ${stderr}`);
  }
  const nowhere = await run({ 'in.csv': good }, 'test/cohort/1.0/none', 'in.csv', '-o', 'out.csv');
  assert.deepEqual([nowhere.code, Object.keys(nowhere.files)], [2, ['in.csv']]);
  assert.match(nowhere.stderr, /^There is no endpoint \/test\/cohort\/1\.0\/none at http/m);
  const gone = await run({ 'in.csv': good }, `http://127.0.0.1:59999/${ENDPOINT}`, 'in.csv', '-o', 'out.csv');
  assert.deepEqual([gone.code, /nothing listens there/.test(gone.stderr)], [2, true], gone.stderr);
});

test('--max-failures stops a run, and --resume goes on with it', async () => {
  await using folder = await temporaryFolder();
  const args = [ENDPOINT, 'in.csv', '-o', 'out.csv', '--max-failures'];
  const stopped = await runIn(folder.path, { 'in.csv': people(5000) }, [...args, '3']);
  assert.equal(stopped.code, 1);
  assert.match(stopped.stderr, /^More than 3 records failed \(--max-failures\), the last one in line 401$/m);
  assert.match(stopped.stderr, /400 records of in\.csv are done and kept/);
  const again = await runIn(folder.path, {}, [...args, '100']);
  assert.match(again.stderr, /^out\.csv was begun before: say --resume to go on, or --force/m);
  const changed = await runIn(folder.path, { 'in.csv': people(5001) }, [...args, '100', '--resume']);
  assert.equal(changed.code, 2);
  assert.match(changed.stderr, /another input gives other results: input was \d+ bytes/);
  const other = await runIn(folder.path, { 'in.csv': people(5000) }, [...args, '100', '--resume', '--join']);
  assert.match(other.stderr, /another --join gives other results/);
  const whole = await runIn(folder.path, {}, [...args, '100', '--resume']);
  assert.deepEqual([whole.code, Object.keys(whole.files).sort()], [1, ['in.csv', 'out.csv', 'out.csv.failed.ndjson']]);
  const once = await runIn(folder.path, {}, [...args, '100', '--resume']);
  assert.match(
    once.stdout,
    /^out\.csv is whole already: nothing is left to do\n {2}failures: out\.csv\.failed\.ndjson$/m,
  );
  assert.deepEqual([once.code, once.files], [1, whole.files], 'some failed');
  const undisturbed = await run({ 'in.csv': people(5000) }, ENDPOINT, 'in.csv', '-o', 'out.csv');
  assert.deepEqual(whole.files, undisturbed.files);
});

test('what was not answered is sent again, and nothing else', async () => {
  const lines = people(3000);
  const undisturbed = await run({ 'in.csv': lines }, ENDPOINT, 'in.csv', '-o', 'out.csv');
  const sent: number[] = [];
  let answers = 0;
  // Stands between: answers 503, breaks off in the middle, and gives less than was asked for.
  const between = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      const isBatch = request.headers['content-type'] === 'application/x-ndjson' && body.length > 0;
      const turn = isBatch ? ++answers : 0;
      if (isBatch) sent.push(body.toString().trim().split('\n').length);
      if (turn === 2) return response.writeHead(503, { 'retry-after': '0' }).end('{"Detail":"busy"}');
      const answer = await fetch(service.url + (request.url ?? ''), {
        method: request.method ?? 'GET',
        headers: { 'content-type': request.headers['content-type'] ?? '', accept: request.headers.accept ?? '' },
        ...(request.method === 'POST' ? { body } : {}),
      });
      const headers = Object.fromEntries(
        [...answer.headers].filter(([name]) => !/transfer|content-length|connection|trailer|encoding/.test(name)),
      );
      response.writeHead(answer.status, headers);
      const text = await answer.text();
      const all = text.split('\n');
      if (turn === 1) return response.write(`${all.slice(0, 100).join('\n')}\n{"resu`, () => response.destroy());
      if (turn === 3) return response.end(`${all.slice(0, 50).join('\n')}\n`);
      return response.end(text);
    })();
  });
  between.listen(0, '127.0.0.1');
  await new Promise((resolve) => between.once('listening', resolve));
  const url = `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
  try {
    const { code, stderr, files } = await run(
      { 'in.csv': lines },
      `${url}/${ENDPOINT}`,
      'in.csv',
      '-o',
      'out.csv',
      '--concurrency',
      '1',
    );
    assert.deepEqual([code, files], [1, undisturbed.files]);
    // Fewer at once where none was answered.
    assert.deepEqual(sent, [1000, 900, 450, 450, 400, 1000, 1000]);
    assert.match(stderr, /^Trying again in 1 s, 1 of 8: the connection broke: /m);
  } finally {
    between.closeAllConnections();
    between.close();
  }
});

test('where no record is answered any more, a run says what it waits for, and ends after --retries', async () => {
  const sent: number[] = [];
  const busy = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.method !== 'POST') return response.writeHead(404).end('{}');
      const count = body.split('\n').length - 1;
      if (count <= 0)
        return response
          .writeHead(200, { 'content-type': 'application/x-ndjson', 'content-location': '/a/b/1/c' })
          .end();
      sent.push(count);
      return response.writeHead(503, { 'retry-after': '0' }).end('{"Detail":"busy"}');
    });
  });
  await once(busy.listen(0, '127.0.0.1'), 'listening');
  try {
    const url = `http://127.0.0.1:${(busy.address() as AddressInfo).port}/a/b/1/c`;
    const args = ['in.csv', '-o', 'out.csv', '--concurrency', '1', '--retries', '2'];
    const { code, stderr } = await run({ 'in.csv': people(1000) }, url, ...args);
    assert.match(stderr, /^Trying again in 1 s, 1 of 2: 503 Service Unavailable: busy$/m);
    assert.match(stderr, /a\/b\/1\/c gave no answer in 3 attempts: 503 Service Unavailable: busy$/m);
    assert.match(stderr, /^Nothing was done$/m);
    assert.deepEqual([code, sent], [2, [1000, 500, 250]]);
  } finally {
    busy.closeAllConnections();
    busy.close();
  }
});
