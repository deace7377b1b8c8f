import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRequestError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, welcomeKo } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();

async function assertRedirects(path: string): Promise<void> {
  const answer = await service.get(path);
  assert.equal(answer.status, 303, `${path}: ${answer.text}`);
  assert.equal(answer.headers.location, '/endpoints', path);
}
const statusOf = async (naan: string): Promise<unknown[]> =>
  (await service.endpoints(naan)).map((endpoint) => endpoint['status']);
const activatedOf = async (naan: string): Promise<unknown> => (await service.endpoints(naan))[0]?.['activated'];

test('import alone activates nothing, and the 404 says how to activate (S-STATE-IMPORTED)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  assert.deepEqual(await service.endpoints(ko.naan), []);
  const answer = await service.post(pathOf(ko, 'welcome'), { name: 'Ada' });
  assertRequestError(answer, {
    status: 404,
    path: pathOf(ko, 'welcome'),
    title: 'Endpoint not found',
    detail: new RegExp(`^No active endpoints found for ${ko.naan}/ko/welcome.*shelf.*(reload|refresh)`, 's'),
  });
});

test('all forms of refresh and reload activate a new KO and redirect to /endpoints (S-STATE-RELOAD, S-ACT-REFRESH, S-ACT-REFRESH-ENGINE, S-ACT-RELOAD, S-ACT-RELOAD-QUERY, S-ACT-RELOAD-PATH, S-ACT-SHORT)', async () => {
  const forms = (id: string, naan: string): string[] => [
    '/actuator/activation/refresh',
    '/actuator/activation/refresh/javascript',
    '/actuator/activation/refresh/JavaScript',
    '/actuator/activation/reload',
    `/actuator/activation/reload/${naan}/ko/?v=v1.0`,
    `/actuator/activation/reload/${naan}/ko?v=v1.0`,
    `/actuator/activation/reload/${id}`,
    '/actuator/refresh',
    '/actuator/refresh/javascript',
    `/actuator/refresh/${naan}/ko`,
    '/actuator/reload',
    `/actuator/reload/${naan}/ko`,
    `/actuator/reload/${id}`,
  ];
  for (const index of forms('', '').keys()) {
    const ko = welcomeKo({ naan: uniqueNaan() });
    await service.add(ko);
    const path = forms(ko.id, ko.naan)[index] ?? '';
    await assertRedirects(path);
    assert.deepEqual(await statusOf(ko.naan), ['ACTIVATED'], path);
    assert.equal((await service.post(pathOf(ko, 'welcome'), { name: 'Ada' })).status, 200, path);
  }
});

test('a reload of one KO touches no other (S-ACT-RELOAD-PATH)', async () => {
  const [one, two] = [welcomeKo({ naan: uniqueNaan() }), welcomeKo({ naan: uniqueNaan() })];
  const sibling = welcomeKo({ naan: one.naan, version: 'v2.0', apiVersion: '2.0' });
  await service.serve(one, two);
  await service.add(sibling);
  const before = await activatedOf(two.naan);
  await service.reload(one);
  assert.equal(await activatedOf(two.naan), before);
  assert.deepEqual(
    (await service.endpoints(one.naan)).map((endpoint) => endpoint['@id']),
    [`${one.naan}/ko/1.0/welcome`],
  );
});

test('a reload takes the KO anew from the shelf (S-STATE-RELOAD)', async () => {
  const naan = uniqueNaan();
  const first = javascriptKo('function run() { return 1; }', { naan });
  await service.serve(first);
  const before = await activatedOf(naan);
  await service.add(javascriptKo('function run() { return 2; }', { naan, endpoint: 'other' }));
  await service.reload(first);
  assert.deepEqual(
    (await service.endpoints(naan)).map((endpoint) => endpoint['@id']),
    [`${naan}/ko/1.0/other`],
  );
  assert.equal((await service.post(`/${naan}/ko/1.0/run`, {})).status, 404, 'the previous endpoints are discarded');
  assert.equal((await service.post(`/${naan}/ko/1.0/other`, {})).object['result'], 2);
  assert.notEqual(await activatedOf(naan), before);
});

test('a refresh activates again from what was loaded (S-STATE-REFRESH, S-ACT-REFRESH)', async () => {
  const naan = uniqueNaan();
  const ko = javascriptKo('let n = 0; function run() { return ++n; }', { naan });
  await service.serve(ko);
  const before = await activatedOf(naan);
  const result = async (): Promise<unknown> => (await service.post(pathOf(ko), {})).object['result'];
  for (let i = 0; i < 4; i++) await result();
  await service.add(javascriptKo('function run() { return "new code"; }', { naan }));
  await assertRedirects('/actuator/activation/refresh');
  assert.equal(await result(), 1, 'activated again, from the code that was loaded');
  assert.notEqual(await activatedOf(naan), before);
  await assertRedirects('/actuator/activation/reload');
  assert.equal(await result(), 'new code');
});

test('each reload and each refresh runs the top level of the code again (S-STATE-REFRESH)', async () => {
  // A machine with other work may need longer than the code can be loaded: then it is given twice the time.
  let naan = '';
  let end = 0;
  for (let milliseconds = 500; end <= Date.now(); milliseconds *= 2) {
    naan = uniqueNaan();
    end = Date.now() + milliseconds;
    await service.serve(javascriptKo(`if (Date.now() > ${end}) throw new Error("late"); function run() {}`, { naan }));
  }
  assert.deepEqual(await statusOf(naan), ['ACTIVATED']);
  while (Date.now() <= end) await assertRedirects(`/actuator/activation/reload/${naan}/ko`);
  for (const change of ['reload', 'refresh']) {
    await assertRedirects(`/actuator/activation/${change}`);
    assert.deepEqual(await statusOf(naan), ['FAILED_TO_ACTIVATE'], change);
  }
});

test('a refresh of one engine leaves the endpoints of others alone (S-STATE-REFRESH-ENGINE, S-ACT-REFRESH-ENGINE)', async () => {
  const naan = uniqueNaan();
  const code = javascriptKo('let n = 0; function run() { return ++n; }', { naan });
  const files = resourceKo({ naan, name: 'files', resources: { 'a.txt': 'a' } });
  await service.serve(code, files);
  const times = async (): Promise<unknown[]> =>
    (await service.endpoints(naan)).map((endpoint) => endpoint['activated']);
  const id = (endpoint: Record<string, unknown>): unknown => endpoint['engine'];
  const engines = (await service.endpoints(naan)).map(id);
  const before = await times();
  await assertRedirects('/actuator/activation/refresh/resource');
  const after = await times();
  for (const [i, engine] of engines.entries()) {
    if (engine === 'resource') assert.notEqual(after[i], before[i]);
    else assert.equal(after[i], before[i]);
  }
  const added = welcomeKo({ naan, name: 'added' });
  await service.add(added);
  await assertRedirects('/actuator/activation/refresh/resource');
  assert.equal((await service.endpoints(naan)).length, 2, 'a new KO of another engine is not taken in');
  assert.equal((await service.get(`/actuator/activation/refresh/${'nobody'}`)).status, 303);
});

test('a refresh of one engine takes nothing of a loaded KO from the shelf', async () => {
  const naan = uniqueNaan();
  await service.serve(welcomeKo({ naan }));
  await service.add(resourceKo({ naan, endpoint: 'welcome', resources: { 'a.txt': 'a' } }));
  const engines = async (): Promise<unknown[]> => (await service.endpoints(naan)).map((each) => each['engine']);
  for (const refresh of ['refresh/resource', 'refresh/javascript', 'refresh']) {
    await assertRedirects(`/actuator/activation/${refresh}`);
    assert.deepEqual(await engines(), ['javascript'], refresh);
  }
  await assertRedirects(`/actuator/activation/reload/${naan}/ko`);
  assert.deepEqual(await engines(), ['resource']);
});

test('endpoints of a deleted KO stay active until a refresh (S-STATE-DELETED)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  await service.delete(`/kos/${ko.id}`);
  assert.deepEqual(await statusOf(ko.naan), ['ACTIVATED']);
  const answer = await service.post(pathOf(ko, 'welcome'), { name: 'Ada' });
  assert.equal(answer.status, 200);
  assert.deepEqual((answer.object['info'] as { ko: unknown }).ko, ko.metadata);
  await assertRedirects('/actuator/activation/refresh');
  assert.deepEqual(await statusOf(ko.naan), []);
  assert.equal((await service.post(pathOf(ko, 'welcome'), { name: 'Ada' })).status, 404);
});

test('a reload of a deleted KO takes its endpoints away (S-STATE-DELETED, S-ACT-RELOAD)', async () => {
  for (const form of ['/actuator/activation/reload', '/actuator/reload']) {
    const ko = welcomeKo({ naan: uniqueNaan() });
    await service.serve(ko);
    await service.delete(`/kos/${ko.id}`);
    await assertRedirects(`${form}/${ko.id}`);
    assert.deepEqual(await statusOf(ko.naan), []);
  }
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  await service.delete(`/kos/${ko.id}`);
  await assertRedirects('/actuator/activation/reload');
  assert.deepEqual(await statusOf(ko.naan), []);
});

test('a reload of a KO that nobody has is 404', async () => {
  const naan = uniqueNaan();
  for (const path of [
    `/actuator/activation/reload/${naan}/ko/v1.0`,
    `/actuator/reload/${naan}/ko/v1.0`,
    `/actuator/reload/${naan}/ko`,
  ]) {
    const answer = await service.get(path);
    assert.equal(answer.status, 404, path);
    assertRequestError(answer, { status: 404, path, title: String(answer.object['Title']), detail: new RegExp(naan) });
  }
  assert.equal((await service.get(`/actuator/activation/reload/${naan}/ko/?v=v1.0`)).status, 404);
});

test('no request is dropped while everything is reloaded', async () => {
  const naan = uniqueNaan();
  const ko = javascriptKo('function run(n) { return n; }', { naan });
  await service.serve(ko);
  let over = false;
  const callers = Array.from({ length: 4 }, async () => {
    let calls = 0;
    while (!over) {
      const answer = await service.post(pathOf(ko), ++calls);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.object['result'], calls);
    }
    return calls;
  });
  for (let i = 0; i < 5; i++) {
    await assertRedirects('/actuator/activation/reload');
    await assertRedirects('/actuator/activation/refresh');
    await service.reload(ko);
    assert.deepEqual(await statusOf(naan), ['ACTIVATED']);
  }
  over = true;
  for (const calls of await Promise.all(callers)) assert.ok(calls > 5);
});

test('a running call finishes on what it started with', async () => {
  const naan = uniqueNaan();
  const slow = 'function run() { const end = Date.now() + 800; while (Date.now() < end); return "old"; }';
  const old = javascriptKo(slow, { naan, metadata: { title: 'Old' } });
  await service.serve(old);
  const running = service.post(pathOf(old), {});
  const next = javascriptKo('function run() { return "new"; }', { naan, metadata: { title: 'New' } });
  await service.add(next);
  await service.reload(next);
  const answer = await running;
  const fresh = await service.post(pathOf(next), {});
  assert.equal(fresh.object['result'], 'new');
  assert.equal(answer.status, 200, answer.text);
  const title = ((answer.object['info'] as { ko: unknown }).ko as { title: unknown }).title;
  assert.deepEqual([answer.object['result'], title], ['old', 'Old']);
});
