import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertShelfError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { uniqueNaan, welcomeKo } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();

test('PUT replaces the metadata and answers 200 with the new (S-SHELF-PUT)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const next = { ...ko.metadata, title: 'New title', extra: { any: ['thing'] }, keywords: [] };
  const answer = await service.put(`/kos/${ko.id}`, next);
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, next);
  assert.deepEqual((await service.get(`/kos/${ko.id}`)).json, next);
  assert.deepEqual((await service.get(`/kos/${ko.id}/metadata.json`)).json, next);
});

test('PUT leaves out what the new metadata leaves out (S-SHELF-PUT)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  assert.equal((await service.put(`/kos/${ko.id}`, { title: 'Only this' })).status, 200);
  assert.deepEqual((await service.get(`/kos/${ko.id}`)).json, { title: 'Only this' });
});

test('PUT keeps order and spelling of numbers', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const text = '{"z":1.10,"10":"ten","2":"two","big":12345678901234567890,"a":1e2}';
  const answer = await service.put(`/kos/${ko.id}`, text);
  assert.equal(answer.status, 200);
  assert.equal(answer.text.replaceAll(/\s/g, ''), text);
  assert.equal((await service.get(`/kos/${ko.id}`)).text.replaceAll(/\s/g, ''), text);
});

test('a body that is not a JSON object is 400 and nothing changes (S-SHELF-PUT-400)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const path = `/kos/${ko.id}`;
  for (const body of ['{"title": ', '[]', '[{"a": 1}]', '"text"', '5', 'null', 'true', '', 'not json']) {
    const answer = await service.put(path, body);
    assertShelfError(answer, { status: 400, path, error: /^Cannot parse new metadata/ });
  }
  assert.deepEqual((await service.get(path)).json, ko.metadata);
});

test('PUT for a missing KO is 404 whatever the body (S-SHELF-PUT-404)', async () => {
  const id = `${uniqueNaan()}/ko/v1.0`;
  for (const body of ['{}', '[]', '', '{"title": ', JSON.stringify({ '@id': id })]) {
    const error = `Object location not found for ark id ark:/${id}`;
    assertShelfError(await service.put(`/kos/${id}`, body), { status: 404, path: `/kos/${id}`, error });
  }
});

test('PUT never moves a KO, and one whose ids disagree does not run', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const other = { ...ko.metadata, '@id': `${ko.naan}/moved/v9.0` };
  assert.equal((await service.put(`/kos/${ko.id}`, other)).status, 200);
  assert.deepEqual((await service.get(`/kos/${ko.id}`)).json, other);
  assert.equal((await service.get(`/kos/${ko.naan}/moved/v9.0`)).status, 404);
  await service.reload(ko);
  assert.notEqual((await service.post(pathOf(ko, 'welcome'), { name: 'Ada' })).status, 200);
  for (const endpoint of await service.endpoints(ko.naan)) assert.equal(endpoint['status'], 'FAILED_TO_ACTIVATE');
  assert.equal((await service.put(`/kos/${ko.id}`, ko.metadata)).status, 200);
  await service.reload(ko);
  assert.equal((await service.post(pathOf(ko, 'welcome'), { name: 'Ada' })).status, 200);
});

test('an active endpoint keeps the metadata as loaded until it is reloaded (S-RULE-RELOAD)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const titles = async (): Promise<unknown[]> => {
    const answer = await service.post(pathOf(ko, 'welcome'), { name: 'Ada' });
    const { ko: metadata } = answer.object['info'] as { ko: { title: string } };
    return [metadata.title, (await service.endpoints(ko.naan))[0]?.['title']];
  };
  await service.put(`/kos/${ko.id}`, { ...ko.metadata, title: 'New' });
  assert.deepEqual(await titles(), ['Title of ko', 'Title of ko']);
  await service.reload(ko);
  assert.deepEqual(await titles(), ['New', 'New']);
});

test('PUT honours If-Match', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const path = `/kos/${ko.id}`;
  const stale = await service.put(path, { title: 'Lost' }, { 'if-match': '"another"' });
  assertShelfError(stale, { status: 412, path, error: /./ });
  assert.deepEqual((await service.get(path)).json, ko.metadata);
  assert.equal((await service.put(path, ko.metadata, { 'if-match': '*' })).status, 200);
  const etag = String((await service.get(path)).headers.etag);
  const answer = await service.put(path, { ...ko.metadata, title: 'First' }, { 'if-match': `"x", ${etag}` });
  assert.equal(answer.status, 200);
  assert.equal((await service.put(path, { title: 'Second' }, { 'if-match': etag })).status, 412, 'the tag is used up');
  assert.equal((await service.get(path)).object['title'], 'First');
});

test('DELETE honours If-Match', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const path = `/kos/${ko.id}`;
  const etag = String((await service.get(path)).headers.etag);
  assertShelfError(await service.delete(path, { 'if-match': '"another"' }), { status: 412, path, error: /./ });
  assert.equal((await service.get(path)).status, 200);
  assert.equal((await service.delete(path, { 'if-match': etag })).status, 204);
  assert.equal((await service.get(path)).status, 404);
});

test('of two writers with the same ETag one wins', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const path = `/kos/${ko.id}`;
  const etag = String((await service.get(path)).headers.etag);
  const writes = ['a', 'b', 'c', 'd'].map((title) =>
    service.put(path, { ...ko.metadata, title }, { 'if-match': etag }),
  );
  const statuses = (await Promise.all(writes)).map((answer) => answer.status).sort();
  assert.deepEqual(statuses, [200, 412, 412, 412]);
});
