/** A request has one name: in its answer, in the log, and at whatever runs it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawClient } from '../load/support/raw-client.ts';
import { RecordedNodeRuntime } from '../runtimes/support/recorded-node-runtime.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { until } from '../runtimes/support/until.ts';
import { jsonBody, upload } from './support/client.ts';
import type { Sent } from './support/client.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, welcomeKo, zipOf } from './support/ko.ts';
import { theOwnService } from './support/the-service.ts';

const naan = uniqueNaan();
const service = await theOwnService();
const well = javascriptKo('function run(n) { return n + 1; }', { naan, name: 'well' });
const failing = javascriptKo('function run() { throw new Error("no"); }', { naan, name: 'failing' });
const files = resourceKo({ naan, name: 'files', resources: { 'a.txt': 'a' } });
await service.serve(well, failing, files);
const form = upload(await zipOf(welcomeKo({ naan, name: 'uploaded' }).files));
const notJson = { headers: { 'content-type': 'application/json' }, body: Buffer.from('{') };
const page = {
  headers: { 'content-type': 'application/json', origin: 'https://page.example' },
  body: Buffer.from('1'),
};

/** Of every kind of way through the service. */
const requests: [string, string, Sent, number][] = [
  ['POST', pathOf(well), jsonBody(1), 200],
  ['POST', pathOf(well), page, 200],
  ['POST', `/${naan}/well/run`, jsonBody(1), 200],
  ['POST', pathOf(failing), jsonBody(1), 500],
  ['POST', pathOf(failing), page, 500],
  ['POST', pathOf(well), notJson, 400],
  ['POST', pathOf(well), { headers: { 'content-type': 'text/html' }, body: Buffer.from('1') }, 415],
  ['POST', `/${naan}/nobody/1.0/run`, jsonBody(1), 404],
  ['GET', pathOf(files, 'files'), {}, 200],
  ['GET', `${pathOf(files, 'files')}/a.txt`, {}, 200],
  ['GET', pathOf(well), {}, 405],
  ['GET', `/kos/${well.id}`, {}, 200],
  ['HEAD', `/kos/${well.id}`, {}, 200],
  ['GET', `/kos/${well.id}`, { headers: { accept: 'application/zip' } }, 200],
  ['GET', `/kos/${naan}/nobody/v1.0`, {}, 404],
  ['GET', `/kos/${files.id}/service.yaml`, {}, 200],
  ['POST', '/kos', form, 200],
  ['POST', '/kos', jsonBody({}), 415],
  ['DELETE', `/kos/${naan}/nobody/v1.0`, {}, 404],
  ['DELETE', `/kos/${well.id}`, { headers: { origin: 'https://page.example' } }, 403],
  ['GET', '/endpoints', {}, 200],
  ['GET', '/actuator/health', {}, 200],
  ['GET', '/actuator/refresh/nobody', {}, 303],
  ['GET', '/', { headers: { accept: 'text/html' } }, 200],
  ['OPTIONS', pathOf(well), {}, 204],
  ['GET', '/nowhere', {}, 404],
  ['GET', '/%', {}, 400],
];

test('the id that a client sends comes back on every answer', async () => {
  for (const [turn, [method, path, { headers = {}, body }, status]] of requests.entries()) {
    const id = `client:${turn}/a+b=.-_`;
    const sent = { headers: { ...headers, 'x-request-id': id }, ...(body === undefined ? {} : { body }) };
    const answer = await service.send(method, path, sent);
    assert.equal(answer.status, status, `${method} ${path} ${answer.text}`);
    assert.equal(answer.headers['x-request-id'], id, `${method} ${path}`);
  }
});

test('a request without an id, or with something else in its place, gets one of its own', async () => {
  const seen = new Set<string>();
  const wrong: Record<string, string>[] = [
    {},
    ...['', 'a b', 'a,b', 'x'.repeat(129), '"', 'é'].map((id) => ({ 'x-request-id': id })),
  ];
  for (const [method, path, { headers = {}, body }] of requests) {
    for (const more of wrong) {
      const sent = { headers: { ...headers, ...more }, ...(body === undefined ? {} : { body }) };
      const id = String((await service.send(method, path, sent)).headers['x-request-id']);
      assert.match(id, /^[0-9a-f]{12}-[0-9a-z]+$/, `${method} ${path}`);
      assert.ok(!seen.has(id), id);
      seen.add(id);
    }
  }
  using broken = await new RawClient(service.url).connected();
  broken.write('no HTTP\r\n\r\n');
  await broken.closed;
  assert.match(broken.received, /^HTTP\/1\.1 400 [^]*\r\nX-Request-Id: [0-9a-f]{12}-/);
});

test('the lines that a request leaves in the log name it', async () => {
  const name = (id: string) => ({ headers: { 'x-request-id': id } });
  await service.send('DELETE', `/kos/${naan}/nobody/v1.0`, name('audited'));
  const parent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const { headers = {}, body = '' } = jsonBody(1);
  await service.send('POST', pathOf(failing), {
    headers: { ...headers, ...name('failed').headers, traceparent: parent },
    body,
  });
  const audited = await service.logged(({ requestId }) => requestId === 'audited');
  assert.equal(audited['audit'], true);
  const failed = await service.logged(({ requestId }) => requestId === 'failed');
  assert.deepEqual([failed['level'], failed['traceparent']], ['warn', parent]);
});

test('a runtime gets the id and the trace of the call, and what it calls goes on under them', async () => {
  const ko = runtimeKo({ naan, name: 'remote', engine: 'traced', code: { 'src/index.txt': '' } });
  await using runtime = await RecordedNodeRuntime.start(service, 'traced');
  await service.serve(ko);
  await until('it is active', async () =>
    (await service.get(`/endpoints/${ko.id.replace('v1.0', '1.0')}/run`)).object['status'] === 'ACTIVATED'
      ? true
      : undefined,
  );
  const caller = javascriptKo(
    `function run(n) { return context.getExecutor('${naan}/remote/1.0/run').execute(JSON.stringify(n), 'application/json'); }`,
    { naan, name: 'caller' },
  );
  await service.serve(caller);
  const parent = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
  for (const [turn, called] of [ko, caller].entries()) {
    const { headers = {}, body = '' } = jsonBody(1);
    const sent = { ...headers, 'x-request-id': `turn-${turn}`, traceparent: parent };
    const answer = await service.send('POST', pathOf(called), { headers: sent, body });
    assert.equal(answer.status, 200, answer.text);
    const got = runtime.calls.at(-1)?.headers ?? {};
    assert.deepEqual([got['x-request-id'], got['traceparent']], [`turn-${turn}`, parent]);
  }
  const answer = await service.post(pathOf(ko), 1);
  assert.equal(runtime.calls.at(-1)?.headers['x-request-id'], answer.headers['x-request-id']);
});
