import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { exchange } from './support/client.ts';
import type { Answer } from './support/client.ts';
import { assertRequestError, assertShelfError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, welcomeKo, zipOf } from './support/ko.ts';
import type { Content, Ko } from './support/ko.ts';
import { servePlaces } from './support/places.ts';
import { startService } from './support/service.ts';
import { until } from '../runtimes/support/until.ts';
import { tryAgain } from '../support/try-again.ts';

const settings = {
  'max-package': '40000',
  'max-unpacked': '200000',
  'max-file': '90000',
  'max-entries': '20',
  'max-metadata': '3000',
  'max-descriptor': '5000',
  'max-body': '20000',
  'max-result': '10000',
  'isolate-memory': '16MB',
  // Not what is tested there, and after a crash code comes behind all else.
  'execution-timeout': '60s',
};
const service = await startService({ args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]) });
after(() => service[Symbol.asyncDispose]());
/** Elsewhere the time of a call is not what is tested, and a slow machine may take longer than this. */
const hasty = await startService({ args: ['--execution-timeout', '700ms'] });
after(() => hasty[Symbol.asyncDispose]());

/** The answer of a call that keeps its limit; on a slow machine it may take more than one attempt. */
async function answerWithin(path: string, input: unknown): Promise<unknown> {
  return until('a call within its time is answered', async () => {
    const answer = await hasty.post(path, input);
    if (answer.status === 200) return answer.object['result'];
    assert.match(answer.text, /no result within the limit|no sandbox was free/);
    return undefined;
  });
}
/** The answer of a call that got a sandbox, which on a slow machine may take more than one attempt too. */
const answerOfOneThatRan = (path: string, input: unknown): Promise<Answer> =>
  until('a call gets a sandbox', async () => {
    const answer = await hasty.post(path, input);
    return answer.status === 503 ? undefined : answer;
  });
/** Milliseconds: far more than the limit, far less than the work that it ends. */
const LONG = 60_000;

async function assertImportRefused(ko: Ko, status: number, error: RegExp): Promise<void> {
  const answer = await service.importZip(await zipOf(ko.files));
  assertShelfError(answer, { status, path: '/kos', error });
  assert.equal((await service.get(`/kos/${ko.id}`)).status, 404);
}
const withFiles = (files: Readonly<Record<string, Content>>): Ko => welcomeKo({ naan: uniqueNaan(), files });

test('packages within the limits are imported and their KOs run', async () => {
  const ko = withFiles({ 'a.txt': 'x'.repeat(80_000), 'b.bin': randomBytes(20_000) });
  await service.serve(ko);
  assert.equal((await service.post(pathOf(ko, 'welcome'), { name: 'Ada' })).status, 200);
});

test('a zip beyond its limit is 413', async () => {
  await assertImportRefused(withFiles({ 'noise.bin': randomBytes(45_000) }), 413, /\b40000\b/);
});

test('a zip of a manifest beyond its limit fails as an entry', async () => {
  const [large, small] = [withFiles({ 'noise.bin': randomBytes(45_000) }), withFiles({})];
  await using web = await servePlaces({
    '/large.zip': await zipOf(large.files),
    '/small.zip': await zipOf(small.files),
  });
  const answer = await service.post('/kos/manifest', [`${web.url}/large.zip`, `${web.url}/small.zip`]);
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, [`${small.id}/`]);
});

test('a package beyond the limit of one file, of all files or of entries is 400', async () => {
  await assertImportRefused(withFiles({ 'a.txt': 'x'.repeat(95_000) }), 400, /a\.txt/);
  const three = Object.fromEntries(['a', 'b', 'c'].map((name) => [`${name}.txt`, 'x'.repeat(80_000)]));
  await assertImportRefused(withFiles(three), 400, /\b200000\b/);
  const many = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`f${i}.txt`, 'x']));
  await assertImportRefused(withFiles(many), 400, /\b20\b/);
});

test('metadata.json or a descriptor beyond its limit is 400 and named', async () => {
  await assertImportRefused(
    welcomeKo({ naan: uniqueNaan(), metadata: { description: 'x'.repeat(4000) } }),
    400,
    /metadata\.json/,
  );
  const ko = withFiles({});
  const longer = (path: string): Ko => ({
    ...ko,
    files: { ...ko.files, [path]: `${String(ko.files[path])}# ${'x'.repeat(6000)}\n` },
  });
  await assertImportRefused(longer('service.yaml'), 400, /service\.yaml/);
  await assertImportRefused(longer('deployment.yaml'), 400, /deployment\.yaml/);
});

test('a request body beyond its limit is 413', async () => {
  const ko = javascriptKo('function run(input) { return input.length; }', {
    naan: uniqueNaan(),
    consumes: ['application/json', 'text/plain'],
  });
  await service.serve(ko);
  const path = pathOf(ko);
  assert.equal((await service.post(path, JSON.stringify('x'.repeat(15_000)))).object['result'], 15_000);
  const body = JSON.stringify('x'.repeat(25_000));
  for (const type of ['application/json', 'text/plain']) {
    const answer = await service.post(path, body, { 'content-type': type });
    assertRequestError(answer, { status: 413, path, title: 'Payload Too Large', detail: /./ });
  }
  const chunked = await service.send('POST', path, {
    body,
    headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
  });
  assert.equal(chunked.status, 413);
  assertShelfError(await service.put(`/kos/${ko.id}`, body), { status: 413, path: `/kos/${ko.id}`, error: /./ });
  assertShelfError(await service.post('/kos/manifest', body), { status: 413, path: '/kos/manifest', error: /./ });
});

test('an answer of a KO beyond its limit is 500 and names the limit', async () => {
  const ko = javascriptKo('function run(n) { return "x".repeat(n); }', { naan: uniqueNaan() });
  await service.serve(ko);
  assert.equal((await service.post(pathOf(ko), 9000)).status, 200);
  for (const size of [11_000, 1_000_000]) {
    const answer = await service.post(pathOf(ko), size);
    const detail = /^Code execution error: .*\b10000\b/;
    assertRequestError(answer, { status: 500, path: pathOf(ko), title: 'General Adapter Exception', detail });
  }
});

test('a call beyond its time is 500 and names the limit', async () => {
  const ko = javascriptKo(
    'function run(ms) { const end = Date.now() + ms; while (Date.now() < end); return "done"; }',
    { naan: uniqueNaan() },
  );
  await hasty.serve(ko);
  assert.equal(await answerWithin(pathOf(ko), 300), 'done');
  const before = Date.now();
  const answer = await answerOfOneThatRan(pathOf(ko), 2 * LONG);
  assert.ok(Date.now() - before < LONG, `${Date.now() - before} ms`);
  const detail = /^Code execution error: .*(700 ?ms|0\.7 ?s|execution-timeout)/;
  assertRequestError(answer, { status: 500, path: pathOf(ko), title: 'General Adapter Exception', detail });
});

test('the time of a call covers the calls that it makes', async () => {
  const naan = uniqueNaan();
  const spinner = javascriptKo('function run(spin) { while (spin); return "done"; }', { naan, name: 'spinner' });
  const code = `function run(spin) { return context.getExecutor("${naan}/spinner/1.0/run").execute(spin).result; }`;
  const caller = javascriptKo(code, { naan, name: 'caller' });
  await hasty.serve(spinner, caller);
  await answerWithin(pathOf(caller), false);
  const before = Date.now();
  const answer = await answerOfOneThatRan(pathOf(caller), true);
  assert.equal(answer.status, 500, answer.text);
  assert.match(String(answer.object['Detail']), /^Code execution error: /);
  assert.ok(Date.now() - before < LONG, `${Date.now() - before} ms`);
});

test('a call beyond its memory is 500 and names the limit', async () => {
  const code =
    'function run(n) { const kept = []; for (let i = 0; i < n; i++) kept.push(new Array(n > 100 ? 100_000 : 1000).fill(i)); return kept.length; }';
  const ko = javascriptKo(code, { naan: uniqueNaan() });
  await service.serve(ko);
  assert.equal((await service.post(pathOf(ko), 100)).object['result'], 100);
  const answer = await service.post(pathOf(ko), 1e9);
  const detail = /^Code execution error: .*(16 ?MB|isolate-memory|memory)/i;
  assertRequestError(answer, { status: 500, path: pathOf(ko), title: 'General Adapter Exception', detail });
  const well = await service.post(pathOf(ko), 100);
  assert.equal(well.object['result'], 100, well.text);
});

test('more calls than may wait for one KO are 503 with Retry-After', async () => {
  await using narrow = await startService({ args: ['--queue-limit', '4'] });
  const naan = uniqueNaan();
  const slow = javascriptKo(
    'function run() { const end = Date.now() + 100; while (Date.now() < end); return "done"; }',
    { naan },
  );
  const other = welcomeKo({ naan, name: 'other' });
  await narrow.serve(slow, other);
  const calls = Array.from({ length: 40 }, () => narrow.post(pathOf(slow), {}));
  assert.equal(
    (await narrow.post(pathOf(other, 'welcome'), { name: 'Ada' })).status,
    200,
    'other KOs are not concerned',
  );
  const answers = await Promise.all(calls);
  const refused = answers.filter((answer) => answer.status === 503);
  assert.ok(refused.length > 0 && refused.length < 40, `${refused.length} refused`);
  for (const answer of refused) {
    assertRequestError(answer, { status: 503, path: pathOf(slow), title: 'Service Unavailable', detail: /./ });
    assert.match(String(answer.headers['retry-after']), /^\d+$/);
  }
  for (const answer of answers) assert.ok(answer.status === 503 || answer.object['result'] === 'done', answer.text);
});

test('a request that does not arrive in time is closed with 408, others go on', async () => {
  await using impatient = await startService({ args: ['--request-timeout', '500ms'] });
  const ko = javascriptKo('function run() { return 1; }', { naan: uniqueNaan() });
  await impatient.serve(ko);
  const head = `POST ${pathOf(ko)} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  const unfinished = [`${head}Content-Length: 50\r\n\r\n{}`, head, 'GET /ko'];
  const closed = unfinished.map((text) => exchange(impatient.url, text));
  const whole = await tryAgain(
    () => impatient.post(pathOf(ko), {}),
    ({ status }) => status === 408,
  );
  assert.equal(whole.object['result'], 1);
  for (const response of await Promise.all(closed)) assert.match(response, /^HTTP\/1\.1 408 |^$/);
});
