/** Every answer of a call can be named for good, whatever its client calls its requests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonBody } from './support/client.ts';
import type { Sent } from './support/client.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan } from './support/ko.ts';
import { theOwnService } from './support/the-service.ts';

const naan = uniqueNaan();
const service = await theOwnService();
const well = javascriptKo('function run(n) { return n + 1; }', { naan, name: 'well' });
const failing = javascriptKo('function run() { throw new Error("no"); }', { naan, name: 'failing' });
const files = resourceKo({ naan, name: 'files', resources: { 'a.txt': 'a' } });
await service.serve(well, failing, files);

const typed = (type: string, body: string, more = {}): Sent => ({ headers: { 'content-type': type, ...more }, body });
const ID = /^[0-9a-f]{12}-[0-9a-z]+$/;
const HEADER = 'kgrid-execution-id';

test('each answer of a call has an id that no other has, with its package or why it failed', async () => {
  const requests: [string, string, Sent, number][] = [
    ['POST', pathOf(well), jsonBody(1), 200],
    ['POST', pathOf(well), typed('application/json', '1', { accept: 'application/json;profile="minimal"' }), 200],
    ['POST', pathOf(well), typed('application/json', '1', { origin: 'https://page.example' }), 200],
    ['POST', `/${naan}/well/run`, jsonBody(1), 200],
    ['POST', pathOf(well), typed('application/x-ndjson', '1\n2\n'), 200],
    ['POST', pathOf(failing), jsonBody(1), 500],
    ['POST', `${pathOf(failing)}/`, jsonBody(1), 500],
    ['POST', pathOf(well), typed('application/json', '{'), 400],
    ['GET', pathOf(files, 'files'), {}, 200],
  ];
  const ids = new Set<string>();
  for (const [method, path, sent, status] of requests) {
    for (const given of [undefined, 'mine']) {
      const headers = { ...sent.headers, ...(given && { 'x-request-id': given }) };
      const answer = await service.send(method, path, { ...sent, headers });
      assert.equal(answer.status, status, path);
      const id = String(answer.headers[HEADER]);
      assert.match(id, ID, path);
      assert.equal(id === answer.headers['x-request-id'], given === undefined, path);
      ids.add(id);
    }
  }
  assert.equal(ids.size, 2 * requests.length);
});

test('a client cannot give its answer the id of another', async () => {
  const first = String((await service.send('POST', pathOf(well), jsonBody(1))).headers[HEADER]);
  const copied = await service.send('POST', pathOf(well), typed('application/json', '1', { 'x-request-id': first }));
  assert.equal(copied.headers['x-request-id'], first);
  assert.notEqual(copied.headers[HEADER], first);
});

test('what is no call has none, and the pages of sites may read it', async () => {
  assert.equal((await service.get(`/kos/${well.id}`)).headers[HEADER], undefined);
  assert.equal((await service.send('POST', `/${naan}/nobody/1.0/run`, jsonBody(1))).headers[HEADER], undefined);
  const { headers } = await service.send(
    'POST',
    pathOf(well),
    typed('application/json', '1', { origin: 'https://a.example' }),
  );
  assert.match(String(headers['access-control-expose-headers']), /KGrid-Execution-Id/);
});

test('the log names a call that failed by it', async () => {
  const { headers } = await service.send('POST', pathOf(failing), jsonBody(1));
  const line = await service.logged(({ executionId }) => executionId === headers[HEADER]);
  assert.equal(line['event'], 'call-failed');
});
