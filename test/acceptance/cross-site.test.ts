import assert from 'node:assert/strict';
import { test } from 'node:test';
import { upload } from './support/client.ts';
import type { Sent } from './support/client.ts';
import { assertRequestError, assertShelfError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { uniqueNaan, welcomeKo, zipOf } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { startService } from './support/service.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const EVIL = 'https://evil.example';

const changes = async (ko: Ko): Promise<[string, string, Sent][]> => {
  const json = { body: '{}', headers: { 'content-type': 'application/json' } };
  return [
    ['DELETE', `/kos/${ko.id}`, {}],
    ['PUT', `/kos/${ko.id}`, json],
    ['POST', '/kos', upload(await zipOf(ko.files))],
    ['POST', '/kos/manifest', { ...json, body: '{"manifest":[]}' }],
    ['POST', '/kos/manifest-list', { ...json, body: '[]' }],
    ['GET', '/actuator/activation/refresh', {}],
    ['GET', '/actuator/activation/reload', {}],
    ['GET', `/actuator/activation/reload/${ko.id}`, {}],
    ['GET', '/actuator/reload', {}],
  ];
};

test('a browser’s cross-site request cannot change anything', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const marks = [
    { origin: EVIL },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { referer: `${EVIL}/page` },
  ];
  for (const mark of marks) {
    for (const [method, path, sent] of await changes(ko)) {
      const answer = await service.send(method, path, { ...sent, headers: { ...sent.headers, ...mark } });
      if (path.startsWith('/kos')) assertShelfError(answer, { status: 403, path, error: /./ });
      else assertRequestError(answer, { status: 403, path, title: 'Forbidden', detail: /./ });
    }
  }
  assert.deepEqual((await service.get(`/kos/${ko.id}`)).json, ko.metadata);
  assert.deepEqual(await service.endpoints(ko.naan), []);
});

test('the service’s own pages and clients that are no browser may change things', async () => {
  const { origin } = new URL(service.url);
  for (const mark of [{ origin }, { origin, 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }, {}]) {
    const ko = welcomeKo({ naan: uniqueNaan() });
    await service.add(ko);
    assert.equal((await service.get(`/actuator/activation/reload/${ko.id}`, mark)).status, 303);
    assert.equal((await service.delete(`/kos/${ko.id}`, mark)).status, 204);
  }
});

test('any origin may read and execute', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const headers = { origin: EVIL, 'sec-fetch-site': 'cross-site' };
  for (const path of [
    '/kos',
    `/kos/${ko.id}`,
    `/kos/${ko.id}/src/index.js`,
    '/endpoints',
    `/endpoints/${ko.naan}/ko/welcome`,
  ]) {
    const answer = await service.get(path, headers);
    assert.equal(answer.status, 200, path);
    assert.equal(answer.headers['access-control-allow-origin'], '*', path);
  }
  const executed = await service.post(pathOf(ko, 'welcome'), { name: 'Ada' }, headers);
  assert.equal(executed.status, 200);
  assert.equal(executed.headers['access-control-allow-origin'], '*');
  const failed = await service.post(pathOf(ko, 'none'), {}, headers);
  assert.equal(failed.status, 404);
  assert.equal(failed.headers['access-control-allow-origin'], '*', 'a page can read the error too');
});

test('a preflight allows execution to any origin and writes to none', async () => {
  const ask = (path: string, method: string) =>
    service.send('OPTIONS', path, { headers: { origin: EVIL, 'access-control-request-method': method } });
  const execute = await ask('/a/b/c', 'POST');
  assert.equal(execute.headers['access-control-allow-origin'], '*');
  const remove = await ask('/kos/a/b/c', 'DELETE');
  assert.doesNotMatch(String(remove.headers['access-control-allow-methods']), /DELETE|PUT/);
});

test('origins of --cors may change things', async () => {
  for (const settings of [{ args: ['--cors', 'https://app.example'] }, { env: { CORS_URL: 'https://app.example' } }]) {
    await using own = await startService(settings);
    const ko = welcomeKo({ naan: uniqueNaan() });
    await own.add(ko);
    const allowed = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' };
    assert.equal((await own.delete(`/kos/${ko.id}`, { origin: EVIL })).status, 403);
    const answer = await own.delete(`/kos/${ko.id}`, allowed);
    assert.equal(answer.status, 204);
    assert.equal(answer.headers['access-control-allow-origin'], 'https://app.example');
  }
});
