import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, zipOf } from './support/ko.ts';
import type { JavascriptParts, Ko } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const saying = (text: string, parts: JavascriptParts): Ko =>
  javascriptKo(`function run() { return "${text}"; }`, parts);
const result = async (path: string): Promise<unknown> => (await service.post(path, {})).object['result'];
const idsOf = async (naan: string): Promise<unknown[]> =>
  (await service.endpoints(naan)).map((endpoint) => endpoint['@id']).sort();

test('several versions of a KO are on the shelf and active together (S-VERSIONS-TOGETHER)', async () => {
  const naan = uniqueNaan();
  const kos = ['1.0', '1.1', '2.0'].map((n) => saying(n, { naan, version: `v${n}`, apiVersion: n }));
  await service.serve(...kos);
  for (const ko of kos) assert.equal(await result(pathOf(ko)), ko.apiVersion);
  assert.deepEqual(
    await idsOf(naan),
    ['1.0', '1.1', '2.0'].map((n) => `${naan}/ko/${n}/run`),
  );
});

test('API versions are chosen before KO versions', async () => {
  const naan = uniqueNaan();
  const one = saying('API 2, KO 1', { naan, version: '1', apiVersion: '2' });
  const two = saying('API 1, KO 2', { naan, version: '2', apiVersion: '1' });
  await service.serve(one, two);
  assert.equal(await result(`/${naan}/ko/1/run`), 'API 1, KO 2');
  assert.equal(await result(`/${naan}/ko/2/run`), 'API 2, KO 1');
  assert.equal(await result(`/${naan}/ko/run?v=1`), 'API 1, KO 2');
});

test('the default version follows natural order', async () => {
  const naan = uniqueNaan();
  const versions = ['1.9', '1.10', '1.2'];
  await service.serve(...versions.map((n) => saying(n, { naan, version: `v${n}`, apiVersion: n })));
  assert.equal(await result(`/${naan}/ko/run`), '1.10');
});

test('of two KO versions with one API version the newest has the id and both are active (S-VERSIONS-DIFFER)', async () => {
  const naan = uniqueNaan();
  const old = saying('old', { naan, version: 'v1.0' });
  const young = saying('young', { naan, version: 'v1.1' });
  for (const order of [
    [old, young],
    [young, old],
  ]) {
    await service.serve(...order);
    assert.equal(await result(`/${naan}/ko/1.0/run`), 'young');
    assert.equal(await result(`/${naan}/ko/run?v=1.0`), 'young');
    assert.equal(await result(`/${naan}/ko/v1.0/run`), 'old');
    assert.equal(await result(`/${naan}/ko/run?v=v1.0`), 'old');
    assert.equal(await result(`/${naan}/ko/run`), 'young');
    assert.deepEqual(await idsOf(naan), [`${naan}/ko/1.0/run`, `${naan}/ko/v1.0/run`]);
  }
  const single = (await service.get(`/endpoints/${naan}/ko/v1.0/run`)).object;
  assert.equal(single['knowledgeObject'], `/kos/${old.id}`);
  await service.delete(`/kos/${young.id}`);
  await service.get(`/actuator/activation/reload/${young.id}`);
  assert.equal(await result(`/${naan}/ko/1.0/run`), 'old');
  assert.deepEqual(await idsOf(naan), [`${naan}/ko/1.0/run`]);
});

test('an API version or endpoint name with other characters does not run', async () => {
  for (const parts of [
    { apiVersion: '1 0' },
    { apiVersion: '..' },
    { apiVersion: '' },
    { endpoint: 'a b' },
    { endpoint: '..' },
    { endpoint: 'x'.repeat(65) },
  ]) {
    const ko = saying('no', { naan: uniqueNaan(), ...parts });
    const imported = await service.importZip(await zipOf(ko.files));
    if (imported.status === 200) {
      await service.reload(ko);
      for (const endpoint of await service.endpoints(ko.naan)) {
        assert.equal(endpoint['status'], 'FAILED_TO_ACTIVATE', JSON.stringify(parts));
      }
    } else assert.equal(imported.status, 400);
  }
});
