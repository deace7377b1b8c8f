import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertShelfError } from './support/expectations.ts';
import { uniqueNaan, welcomeKo } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();

test('an ark id of a KO redirects to its metadata (S-SHELF-ARK)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  for (const ark of ['ark:/', 'ark:']) {
    const answer = await service.get(`/kos/${ark}${ko.id}`);
    assert.equal(answer.status, 302);
    assert.equal(answer.headers.location, `/kos/${ko.id}`);
  }
  assert.deepEqual((await service.get(`/kos/${ko.id}`)).json, ko.metadata);
  const zip = await service.get(`/kos/ark:/${ko.id}?format=zip`);
  assert.equal(zip.headers.location, `/kos/${ko.id}?format=zip`);
});

test('an ark id of a missing KO is 404 (S-SHELF-ARK, S-SHELF-404-TEXT)', async () => {
  const id = `${uniqueNaan()}/ko/v1.0`;
  for (const ark of ['ark:/', 'ark:']) {
    const answer = await service.get(`/kos/${ark}${id}`);
    const error = `Object location not found for ark id ark:/${id}`;
    assertShelfError(answer, { status: 404, path: `/kos/${ark}${id}`, error });
  }
});

test('an ark id without a version lists the metadata of every version (S-SHELF-ARK-VERSIONS)', async () => {
  const naan = uniqueNaan();
  const kos = ['v1.0', 'v2.0', 'v10.0'].map((version) => welcomeKo({ naan, version }));
  await service.add(...kos, welcomeKo({ naan, name: 'other' }));
  for (const ark of ['ark:/', 'ark:']) {
    const answer = await service.get(`/kos/${ark}${naan}/ko`);
    assert.equal(answer.status, 200);
    const byVersion = answer.list.map((metadata) => [String(metadata['version']), metadata]).sort();
    assert.deepEqual(byVersion, kos.map((ko) => [ko.version, ko.metadata]).sort());
  }
});

test('an ark id without a version that nothing has is 404 (S-SHELF-ARK-VERSIONS)', async () => {
  const naan = uniqueNaan();
  for (const ark of ['ark:/', 'ark:']) {
    const path = `/kos/${ark}${naan}/ko`;
    const error = new RegExp(`^Object location not found for ark id ark:/${naan}/ko`);
    assertShelfError(await service.get(path), { status: 404, path, error });
  }
});
