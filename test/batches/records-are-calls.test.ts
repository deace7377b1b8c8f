/** NDJSON at an execution address is one call a line: addresses, types, order, errors, the end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { api, BMI, deployment, secondClient, secondKo, uniqueWord } from '../acceptance/support/second-generation.ts';
import { inRound } from '../support/round.ts';
import { linesOf, NDJSON, openBatch, readAnswer, sendBatch } from './support/batch-client.ts';
import { theBatchService } from './support/well.ts';

const COUNT = inRound(2000, 5000);
const service = await theBatchService();
const { url } = service;
const naan = uniqueNaan();
const double = javascriptKo(
  'function run(n) { if (n < 0) throw new Error("negative: " + n); return { twice: n * 2 }; }',
  { naan, name: 'double' },
);
const old = javascriptKo('function run(n) { return "old " + n; }', {
  naan,
  name: 'double',
  version: 'v0.9',
  apiVersion: '0.9',
});
const whole = javascriptKo('function run(text) { return text.length; }', {
  naan,
  name: 'whole',
  consumes: ['application/x-ndjson'],
});
const csv = javascriptKo('function run(text) { return text; }', { naan, name: 'csv', consumes: ['text/csv'] });
const files = resourceKo({ naan, name: 'files', resources: { 'a.txt': 'a' } });
const nested = javascriptKo(
  `function run(n) { return context.getExecutor("${naan}/double/1.0/run").execute(n).twice + 1; }`,
  { naan, name: 'nested' },
);
const second = secondKo({
  atId: uniqueWord(),
  metadata: { hasService: api(['.']) },
  files: { 'bmi.js': BMI, 'deployment.yaml': deployment() },
});
await service.serve(double, old, whole, csv, files, nested);
const path = pathOf(double);
const twice = (...all: number[]): unknown[] => all.map((n) => ({ result: { twice: n * 2 } }));

test('each record has its line, in their order, with trailers that say how many there were', async () => {
  const records = Array.from({ length: COUNT }, (_, i) => i);
  const answer = await sendBatch(url, path, records.map((n) => `${n}\n`).join(''));
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.lines, twice(...records));
  assert.deepEqual(answer.trailers, { 'kgrid-records': `${COUNT}`, 'kgrid-failed': '0' });
  assert.equal(answer.headers['content-type'], NDJSON);
  assert.equal(answer.headers['content-location'], path);
  assert.equal(answer.headers['trailer'], 'KGrid-Records, KGrid-Failed');
  assert.match(String(answer.headers['kgrid-package-digest']), /^sha256:/);
  assert.ok(answer.headers['x-request-id']);
});

test('a record that fails concerns no other, and is named by its line of the input', async () => {
  const body = '\u{feff}1\r\n\r\n \n-5\n{"a"\n2\n"\u{0000}"\n3';
  const { lines, trailers } = await sendBatch(url, `${path}?summary=true`, body);
  assert.deepEqual(
    lines.map(({ error, line, ...rest }) => (error ? [error.Status, error.Title, line] : rest)),
    [
      { result: { twice: 2 } },
      ['500 Internal Server Error', 'General Adapter Exception', 4],
      ['400 Bad Request', 'Http Message Not Readable', 5],
      { result: { twice: 4 } },
      ['400 Bad Request', 'Http Message Not Readable', 7],
      { result: { twice: 6 } },
      { summary: { records: 6, failed: 3 } },
    ],
  );
  assert.match(String(lines[1]?.error?.Detail), /^Code execution error: Error: negative: -5$/);
  assert.match(String(lines[2]?.error?.Detail), /^The record in line 5 is not JSON: .*position 4/);
  assert.equal(lines[4]?.error?.Detail, 'The record in line 7 is not JSON: it holds a NUL character');
  assert.deepEqual(trailers, { 'kgrid-records': '6', 'kgrid-failed': '3' });
});

test('all four names of the type mean the same, with parameters and in any case', async () => {
  for (const type of ['application/x-ndjson', 'application/ndjson', 'application/jsonl', 'application/fhir+ndjson']) {
    for (const header of [type, `${type.toUpperCase()}; charset=utf-8`]) {
      const answer = await sendBatch(url, path, '1\n2\n', { 'content-type': header });
      assert.equal(answer.headers['content-type'], type);
      assert.deepEqual(answer.lines, twice(1, 2));
    }
  }
});

test('every form of an address takes records', async () => {
  const short = `/${naan}/double/run`;
  for (const [at, expected] of [
    [short, twice(1)],
    [`${short}?v=1.0`, twice(1)],
    [`${short}?v=v1.0&summary=false`, twice(1)],
    [`${short}?v=0.9`, [{ result: 'old 1' }]],
    [pathOf(old), [{ result: 'old 1' }]],
  ] as const) {
    const answer = await sendBatch(url, at, '1\n');
    assert.deepEqual(answer.lines, expected, at);
    assert.equal(
      answer.headers['content-location'],
      expected[0] === undefined ? '' : at.includes('0.9') ? pathOf(old) : path,
    );
  }
  await secondClient(service).serve(second);
  const { '@id': atId } = JSON.parse(String(second['metadata.json'])) as { '@id': string };
  const byAtId = await sendBatch(
    url,
    `/endpoints/${atId}/bmi`,
    '{"weight":70,"height":1.75}\n{"weight":80,"height":2}',
  );
  assert.deepEqual(byAtId.lines, [{ result: 22.9 }, { result: 20 }]);
});

test('a request that is wrong as a whole is answered as a single call is', async () => {
  const plain = async (at: string, headers = {}): Promise<{ status: number; text: string }> =>
    service.send('POST', at, { headers: { 'content-type': NDJSON, ...headers }, body: '1\n' });
  const missing = await plain(`/${naan}/double/9.9/run`);
  assert.equal(missing.status, 404);
  assert.match(missing.text, /No active endpoints found for .*active API versions: 1\.0, 0\.9/);
  assert.equal((await plain(pathOf(files, 'files'))).status, 405);
  const noJson = await plain(pathOf(csv));
  assert.equal(noJson.status, 415);
  assert.match(noJson.text, /Supported Content Types: \[text\/csv\]/);
  const encoded = await plain(path, { 'content-encoding': 'br' });
  assert.equal(encoded.status, 415);
  assert.match(encoded.text, /Content-Encoding br is not read here/);
  assert.equal((await plain(path, { accept: 'text/html' })).status, 406);
  for (const accept of ['*/*', NDJSON, 'application/json', 'application/*'])
    assert.equal((await plain(path, { accept })).status, 200, accept);
});

test('an endpoint that declares the type itself gets the body untouched', async () => {
  const body = '{"a":1}\n\nnot json\n';
  const answer = await service.send('POST', pathOf(whole), { headers: { 'content-type': NDJSON }, body });
  assert.equal(answer.object['result'], body.length);
  // Of the other names it declares none.
  const other = await service.send('POST', pathOf(whole), { headers: { 'content-type': 'application/jsonl' }, body });
  assert.equal(other.status, 415);
});

test('answers come while records are still on their way, and connections go on to serve', async () => {
  const outgoing = openBatch(url, path);
  outgoing.write('1\n');
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  for (let n = 1; n <= 5; n++) {
    const [part] = (await once(incoming, 'data')) as [Buffer];
    assert.deepEqual(linesOf(part.toString()), twice(n));
    if (n < 5) outgoing.write(`${n + 1}\n`);
  }
  outgoing.end('6');
  const rest = await readAnswer(incoming);
  assert.deepEqual([rest.lines, rest.isWhole], [twice(6), true]);
});

test('a body in gzip is inflated as it comes, members behind each other too', async () => {
  const body = Buffer.concat([gzipSync('1\n2'), gzipSync('\n3\n')]);
  for (const encoding of ['gzip', 'X-GZIP']) {
    const { lines } = await sendBatch(url, path, body, { 'content-encoding': encoding });
    assert.deepEqual(lines, twice(1, 2, 3));
  }
});

test('gzip that breaks off or is none has a last line that says so, and no whole answer', async () => {
  const good = gzipSync('1\n2\n3\n');
  const cut = await sendBatch(url, path, good.subarray(0, -6), { 'content-encoding': 'gzip' });
  assert.equal(cut.isWhole, false);
  assert.deepEqual(cut.lines.slice(0, 3), twice(1, 2, 3));
  assert.equal(cut.lines[3]?.line, 4);
  assert.match(String(cut.lines[3]?.error?.Detail), /not valid gzip: unexpected end of file/);
  const none = await sendBatch(url, path, '1\n2\n', { 'content-encoding': 'gzip' });
  assert.equal(none.isWhole, false);
  assert.match(String(none.lines[0]?.error?.Detail), /not valid gzip: incorrect header check/);
});

test('pages of any site may send records', async () => {
  const preflight = await service.send('OPTIONS', path, {
    headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
  });
  assert.equal(preflight.status, 204);
  assert.match(String(preflight.headers['access-control-allow-headers']), /Content-Encoding, Content-Type/);
  const answer = await sendBatch(url, path, '1\n', { origin: 'https://page.example' });
  assert.equal(answer.headers['access-control-allow-origin'], '*');
  assert.deepEqual(answer.lines, twice(1));
  assert.equal((await service.send('HEAD', path)).status, 405);
});
