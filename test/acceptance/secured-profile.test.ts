import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { basic, upload } from './support/client.ts';
import { checkedSender } from './support/interface-check.ts';
import type { Answer, Sent } from './support/client.ts';
import { assertRequestError, assertShelfError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { resourceKo, uniqueNaan, welcomeKo, zipOf } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { servePlaces } from './support/places.ts';
import { startService, temporaryFolder } from './support/service.ts';

const CREDENTIALS = 'curator:s3cret: ü';
const service = await startService({
  profile: 'secure',
  env: { KGRID_USER: 'curator', KGRID_PASSWORD: 's3cret: ü' },
  credentials: CREDENTIALS,
});
after(() => service[Symbol.asyncDispose]());
const anonymous = checkedSender(service.url);
const impostor = checkedSender(service.url, 'curator:wrong');

const ko = welcomeKo({ naan: uniqueNaan() });
const files = resourceKo({ naan: ko.naan, name: 'files', resources: { 'a.txt': 'a' } });
await service.serve(ko, files);

/** What the secured profile closes, as method, path and body. */
const closed = async (target: Ko): Promise<[string, string, Sent?][]> => [
  ['GET', '/actuator/activation/refresh'],
  ['GET', '/actuator/activation/refresh/javascript'],
  ['GET', '/actuator/activation/reload'],
  ['GET', `/actuator/activation/reload/${target.id}`],
  ['GET', `/actuator/activation/reload/${target.naan}/${target.name}/?v=${target.version}`],
  ['GET', '/actuator/refresh'],
  ['GET', '/actuator/refresh/javascript'],
  ['GET', `/actuator/refresh/${target.naan}/${target.name}`],
  ['GET', '/actuator/reload'],
  ['GET', `/actuator/reload/${target.naan}/${target.name}`],
  ['GET', `/actuator/reload/${target.id}`],
  ['GET', '/actuator/info'],
  ['POST', '/kos', upload(await zipOf(target.files))],
  ['POST', '/kos/manifest', { body: '{"manifest":[]}', headers: { 'content-type': 'application/json' } }],
  ['POST', '/kos/manifest-list', { body: '[]', headers: { 'content-type': 'application/json' } }],
  ['PUT', `/kos/${target.id}`, { body: '{}', headers: { 'content-type': 'application/json' } }],
  ['DELETE', `/kos/${target.id}`],
];

function assertRefused(answer: Answer, path: string): void {
  const asked = path.replace(/\?.*/, '');
  if (path.startsWith('/kos')) assertShelfError(answer, { status: 401, path: asked, error: /login/i });
  else assertRequestError(answer, { status: 401, path: asked, title: 'Unauthorized', detail: /login/i });
  assert.match(String(answer.headers['www-authenticate']), /^Basic realm=/);
}

test('secured operations are 401 without a login, and nothing happens (S-AUTH-ACTIVATION, S-AUTH-INFO)', async () => {
  for (const [method, path, sent] of await closed(ko)) assertRefused(await anonymous(method, path, sent), path);
  assert.deepEqual((await anonymous('GET', `/kos/${ko.id}`)).json, ko.metadata);
  const unknown = welcomeKo({ naan: uniqueNaan() });
  for (const [method, path, sent] of await closed(unknown)) assertRefused(await anonymous(method, path, sent), path);
});

test('wrong credentials are 401 on secured operations', async () => {
  const headers = [
    basic('curator:wrong'),
    basic('other:s3cret: ü'),
    basic(''),
    'Basic',
    'Basic !!!',
    'Bearer token',
    'Digest x',
    'x',
  ];
  for (const authorization of headers) {
    assertRefused(await anonymous('DELETE', `/kos/${ko.id}`, { headers: { authorization } }), `/kos/${ko.id}`);
  }
  for (const [method, path, sent] of await closed(ko)) assertRefused(await impostor(method, path, sent), path);
});

test('with a login secured operations work', async () => {
  const target = welcomeKo({ naan: uniqueNaan() });
  await service.serve(target);
  for (const [method, path, sent] of await closed(target)) {
    if (method === 'GET') assert.ok([200, 303].includes((await service.send(method, path, sent)).status), path);
  }
  assert.equal((await service.put(`/kos/${target.id}`, target.metadata)).status, 200);
  assert.equal((await service.delete(`/kos/${target.id}`)).status, 204);
});

test('reads of the shelf, listings and execution are open (S-AUTH-EXECUTE, S-AUTH-ENDPOINTS)', async () => {
  const reads = [
    '/',
    '/kos',
    `/kos/${ko.id}`,
    `/kos/${ko.naan}/ko`,
    `/kos/${ko.id}?format=zip`,
    `/kos/${ko.id}/src/index.js`,
    `/kos/ark:/${ko.naan}/ko`,
    '/endpoints',
    '/endpoints/javascript',
    `/endpoints/${ko.naan}/ko/welcome`,
    `/endpoints${pathOf(ko, 'welcome')}`,
    pathOf(files, 'files'),
    `${pathOf(files, 'files')}/a.txt`,
    '/actuator/health',
    '/actuator/health/liveness',
    '/actuator/health/readiness',
  ];
  for (const send of [anonymous, impostor]) {
    for (const path of reads) assert.equal((await send('GET', path)).status, 200, path);
    const sent = { body: '{"name":"Ada"}', headers: { 'content-type': 'application/json' } };
    assert.equal((await send('POST', pathOf(ko, 'welcome'), sent)).status, 200);
  }
});

test('health shows only its status without a login, and all with one (S-HEALTH-LOGIN, S-AUTH-HEALTH)', async () => {
  assert.deepEqual((await anonymous('GET', '/actuator/health')).json, { status: 'UP' });
  const full = await service.get('/actuator/health');
  assert.ok('components' in full.object);
  assert.ok('components' in full.object && full.object['status'] === 'UP');
  assert.deepEqual((await service.get('/actuator/health/readiness')).json, { status: 'UP' });
});

test('writes and activations leave one audit line each: who, what, digest, outcome', async () => {
  const target = welcomeKo({ naan: uniqueNaan() });
  const lines = () =>
    service.log.filter((line) => JSON.stringify(line).includes(target.naan) && line['audit'] === true);
  await service.serve(target);
  await service.put(`/kos/${target.id}`, target.metadata);
  await service.delete(`/kos/${target.id}`);
  await service.logged(() => lines().length >= 4);
  const told = lines().map((line) => [line['who'], line['outcome']]);
  const done = ['curator', 'done'];
  assert.deepEqual(told, [done, done, done, done]);
  const imported = lines()[0];
  assert.match(String(imported?.['digest']), /^[0-9a-f]{64}$/);
  assert.ok(!JSON.stringify(service.log).includes('s3cret'), 'no secret in the log');
});

test('posted manifests may not name files or private addresses outside dev', async () => {
  await using folder = await temporaryFolder();
  const target = welcomeKo({ naan: uniqueNaan() });
  const zip = await zipOf(target.files);
  await using web = await servePlaces({ '/ko.zip': zip });
  await writeFile(join(folder.path, 'ko.zip'), zip);
  const port = new URL(web.url).port;
  const entries = [
    `file://${folder.path}/ko.zip`,
    `${web.url}/ko.zip`,
    `http://localhost:${port}/ko.zip`,
    `http://[::ffff:127.0.0.1]:${port}/ko.zip`,
    `http://0x7f.1:${port}/ko.zip`,
    `http://0.0.0.0:${port}/ko.zip`,
  ];
  for (const entry of entries) {
    const answer = await service.post('/kos/manifest', { manifest: [entry] });
    assert.equal(answer.status, 400, entry);
    assert.deepEqual(answer.json, []);
  }
  assert.equal((await service.post('/kos/manifest-list', [`${web.url}/ko.zip`])).status, 400);
  assert.deepEqual(web.asked, []);
});
