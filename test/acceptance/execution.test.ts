import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callCases } from './support/call-cases.ts';
import { assertRequestError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, ko as koOf, uniqueNaan, welcomeKo } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const GREETING = 'Welcome to the Knowledge Grid, Ada';

test('an endpoint answers with result and info (S-EXEC-RESULT)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const answer = await service.post(pathOf(ko, 'welcome'), { name: 'Ada' });
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers['content-type']), /^application\/json/);
  assert.deepEqual(answer.json, { result: GREETING, info: { ko: ko.metadata, inputs: '{"name":"Ada"}' } });
  assert.deepEqual(Object.keys(answer.object), ['result', 'info']);
});

test('the inputs are the body as it was sent', async () => {
  const ko = javascriptKo('function run(input) { return input; }', { naan: uniqueNaan() });
  await service.serve(ko);
  const bodies = [
    '{\n  "name" : "Ada",\n\t"n": 1.10\r\n}',
    '{"ü":"\\u0041 \\" € 𝄞"}',
    ' [1, 2] ',
    '"text"',
    '0',
    'null',
    '{"a":1,"a":2}',
  ];
  for (const body of bodies) {
    const answer = await service.post(pathOf(ko), body);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.object['result'], JSON.parse(body));
    assert.equal((answer.object['info'] as { inputs: unknown }).inputs, body);
  }
});

test('info.ko is the metadata as it is, unknown fields and numbers included', async () => {
  const naan = uniqueNaan();
  const metadata = `{"@id":"${naan}/ko/v1.0","identifier":"ark:/${naan}/ko/v1.0","version":"v1.0","n":1.10,"hasServiceSpecification":"service.yaml","hasDeploymentSpecification":"deployment.yaml","10":1,"2":2}`;
  const ko = welcomeKo({ naan, files: { 'metadata.json': metadata } });
  await service.serve(ko);
  const answer = await service.post(pathOf(ko, 'welcome'), { name: 'Ada' });
  assert.ok(answer.text.replaceAll(/\s/g, '').includes(`"ko":${metadata}`), answer.text);
});

test('the version is chosen by segment, by v or by default (S-REQ-VERSION-PATH, S-REQ-VERSION-QUERY, S-REQ-VERSION-DEFAULT)', async () => {
  const naan = uniqueNaan();
  const numbered = (n: string) =>
    javascriptKo(`function run() { return "${n}"; }`, { naan, version: `v${n}`, apiVersion: n });
  await service.serve(...['2.0', '10.0', '1.0'].map(numbered));
  const result = async (path: string): Promise<unknown> =>
    (await service.post(`/${naan}/ko/${path}`, {})).object['result'];
  assert.equal(await result('1.0/run'), '1.0');
  assert.equal(await result('run?v=2.0'), '2.0');
  assert.equal(await result('run'), '10.0');
  assert.equal(await result('v1.0/run'), '1.0', 'a KO version in the place of the API version');
  assert.equal(await result('run?v=v2.0'), '2.0');
});

test('the default is the newest API version that is active (S-REQ-VERSION-DEFAULT)', async () => {
  const naan = uniqueNaan();
  const old = javascriptKo('function run() { return "old"; }', { naan, version: 'v1.0', apiVersion: '1.0' });
  const broken = javascriptKo('function run( {', { naan, version: 'v2.0', apiVersion: '2.0' });
  await service.serve(old, broken);
  const answer = await service.post(`/${naan}/ko/run`, {});
  assert.equal(answer.object['result'], 'old');
  assert.equal(answer.headers['content-location'], `/${naan}/ko/1.0/run`);
});

test('Content-Location is the versioned path of the endpoint (S-VERSIONS-DIFFER)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan(), version: 'v7', apiVersion: '1.0' });
  await service.serve(ko);
  for (const path of ['1.0/welcome', 'welcome?v=1.0', 'welcome', 'v7/welcome']) {
    const answer = await service.post(`/${ko.naan}/ko/${path}`, { name: 'Ada' });
    assert.equal(answer.status, 200, path);
    assert.equal(answer.headers['content-location'], pathOf(ko, 'welcome'), path);
  }
});

test('a version segment wins over an endpoint path of two segments', async () => {
  const naan = uniqueNaan();
  const post = (path: string) => ({
    path,
    consumes: ['application/json'],
    deployment: { artifact: 'src/index.js', engine: 'javascript', function: path.includes('b/') ? 'two' : 'one' },
  });
  const ko = koOf({
    naan,
    apiVersion: 'b',
    endpoints: [post('/run'), post('/b/run'), post('/other/run')],
    files: { 'src/index.js': 'function one() { return "version"; } function two() { return "path"; }' },
  });
  await service.serve(ko);
  const result = async (path: string): Promise<unknown> =>
    (await service.post(`/${naan}/ko/${path}`, {})).object['result'];
  assert.equal(await result('b/run'), 'version');
  assert.equal(await result('b/b/run'), 'path');
  assert.equal(await result('other/run'), 'version');
});

test('an endpoint that nobody has is 404 (S-REQ-404)', async () => {
  const naan = uniqueNaan();
  const cases = { [`/${naan}/ko/1.0/run`]: 'run', [`/${naan}/ko/run`]: 'run', [`/${naan}/ko/other?v=1.0`]: 'other' };
  for (const [path, endpoint] of Object.entries(cases)) {
    const detail = new RegExp(`^No active endpoints found for ${naan}/ko/${endpoint}`);
    const answer = await service.post(path, {});
    assertRequestError(answer, { status: 404, path: path.replace(/\?.*/, ''), title: 'Endpoint not found', detail });
  }
});

test('the 404 of a version that is not active names the versions that are', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  for (const path of [`/${ko.naan}/ko/9.9/welcome`, `/${ko.naan}/ko/welcome?v=9.9`]) {
    const answer = await service.post(path, {});
    const detail = new RegExp(`^No active endpoints found for ${ko.naan}/ko/welcome.*\\b1\\.0\\b`);
    assertRequestError(answer, { status: 404, path: path.replace(/\?.*/, ''), title: 'Endpoint not found', detail });
  }
});

test('the 404 of an endpoint that failed to activate says why', async () => {
  const ko = javascriptKo('const a = 1;\nfunction run( {', { naan: uniqueNaan() });
  await service.serve(ko);
  const why = String((await service.endpoints(ko.naan))[0]?.['detail']);
  assert.match(why, /SyntaxError/);
  const answer = await service.post(pathOf(ko), {});
  const detail = new RegExp(`^No active endpoints found for ${ko.naan}/ko/run`);
  assertRequestError(answer, { status: 404, path: pathOf(ko), title: 'Endpoint not found', detail });
  assert.ok(String(answer.object['Detail']).includes(why));

  const unreadable = welcomeKo({ naan: uniqueNaan() });
  await service.serve(unreadable);
  await service.put(`/kos/${unreadable.id}`, {});
  await service.reload(unreadable);
  const nothing = await service.post(pathOf(unreadable, 'welcome'), {});
  assert.match(
    String(nothing.object['Detail']),
    new RegExp(`; ${unreadable.id} does not run: metadata.json has no @id`),
  );
});

test('calls give what they give by any protocol, errors of code with the words of the engine (S-REQ-500)', async () => {
  const cases = callCases(uniqueNaan());
  await service.serve(...new Set(cases.flatMap(({ kos }) => kos)));
  for (const { title, path, input, expected } of cases) {
    const answer = await service.post(path, input);
    if ('result' in expected) {
      assert.equal(answer.status, 200, `${title}: ${answer.text}`);
      assert.deepEqual(answer.object['result'], expected.result, title);
    } else {
      const { status, code, detail } = expected;
      assert.equal(answer.headers['kgrid-error'], code, title);
      assertRequestError(answer, { status, path, title: TITLES[status] ?? '', detail });
    }
  }
});

const TITLES: Readonly<Record<number, string>> = {
  404: 'Endpoint not found',
  405: 'Method Not Allowed',
  415: 'Unsupported Media Type',
  500: 'General Adapter Exception',
};

test('a change takes effect only after the KO is reloaded (S-RULE-RELOAD)', async () => {
  const naan = uniqueNaan();
  const first = javascriptKo('function run() { return "first"; }', { naan });
  const second = javascriptKo('function run() { return "second"; }', { naan });
  await service.serve(first);
  const result = async (): Promise<unknown> => (await service.post(pathOf(first), {})).object['result'];
  assert.equal(await result(), 'first');
  await service.add(second);
  assert.equal(await result(), 'first');
  await service.get('/actuator/activation/refresh');
  assert.equal(await result(), 'first', 'a refresh activates again from what was loaded');
  await service.reload(second);
  assert.equal(await result(), 'second');
});
