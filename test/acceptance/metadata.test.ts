import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertShelfError } from './support/expectations.ts';
import { CONTEXT, uniqueNaan, welcomeKo } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const notFound = (id: string): string => `Object location not found for ark id ark:/${id}`;

test('the shelf lists the metadata of all KOs (S-SHELF-LIST)', async () => {
  const naan = uniqueNaan();
  const kos = [welcomeKo({ naan }), welcomeKo({ naan, version: 'v2.0' }), welcomeKo({ naan, name: 'other' })];
  await service.add(...kos);
  const all = await service.get('/kos');
  assert.equal(all.status, 200);
  assert.match(String(all.headers['content-type']), /^application\/json/);
  const own = all.list.filter((metadata) => String(metadata['@id']).startsWith(`${naan}/`));
  const byId = (a: { '@id'?: unknown }, b: { '@id'?: unknown }): number =>
    String(a['@id']) < String(b['@id']) ? -1 : 1;
  assert.deepEqual(own.sort(byId), kos.map((ko) => ko.metadata).sort(byId));
});

test('metadata has every field as it was imported (S-KO-METADATA)', async () => {
  const naan = uniqueNaan();
  const ko = welcomeKo({ naan });
  await service.add(ko);
  const answer = await service.get(`/kos/${ko.id}`, { accept: 'application/json' });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, {
    '@id': `${naan}/ko/v1.0`,
    '@type': 'koio:KnowledgeObject',
    identifier: `ark:/${naan}/ko/v1.0`,
    version: 'v1.0',
    title: 'Title of ko',
    description: 'A knowledge object of the acceptance suite',
    keywords: ['acceptance', 'test'],
    contributors: 'Kgrid Team',
    hasServiceSpecification: 'service.yaml',
    hasDeploymentSpecification: 'deployment.yaml',
    hasPayload: 'src/index.js',
    '@context': CONTEXT,
  });
});

test('unknown fields, order and spelling of numbers are kept', async () => {
  const naan = uniqueNaan();
  const text = `{"zeta": 1.10, "@id": "${naan}/ko/v1.0", "big": 12345678901234567890, "exp": 1E+2, "identifier": "ark:/${naan}/ko/v1.0",
    "version": "v1.0", "__proto__": {"x": 1}, "10": "ten", "2": "two", "nested": {"b": [1.0, -0, null], "a": "é\\u00e9\\/"},
    "hasServiceSpecification": "service.yaml", "hasDeploymentSpecification": "deployment.yaml", "alpha": true}`;
  const ko = welcomeKo({ naan, files: { 'metadata.json': text } });
  await service.add(ko);
  const squeezed = (json: string): string => json.replaceAll(/\s/g, '');
  const expected = squeezed(text);
  const sameText = (json: string): void => {
    assert.equal(
      squeezed(json).replaceAll('\\u00e9', 'é').replaceAll('\\/', '/'),
      expected.replaceAll('\\u00e9', 'é').replaceAll('\\/', '/'),
    );
  };
  sameText((await service.get(`/kos/${ko.id}`)).text);
  assert.equal((await service.get(`/kos/${ko.id}/metadata.json`)).text, text, 'the file is the same byte for byte');
  const listing = squeezed((await service.get('/kos')).text);
  assert.ok(
    listing.includes('"zeta":1.10,') && listing.includes('"big":12345678901234567890,"exp":1E+2,'),
    'in the listing',
  );
});

test('the version is chosen by path or by v (S-SHELF-GET-QUERY, S-SHELF-GET-PATH)', async () => {
  const naan = uniqueNaan();
  await service.add(...['v1.0', 'v2.0', '3'].map((version) => welcomeKo({ naan, version })));
  for (const version of ['v1.0', 'v2.0', '3']) {
    assert.equal((await service.get(`/kos/${naan}/ko/${version}`)).object['version'], version);
    assert.equal((await service.get(`/kos/${naan}/ko?v=${version}`)).object['version'], version);
  }
});

test('without v the newest version by natural order is given (S-SHELF-GET-QUERY)', async () => {
  const naan = uniqueNaan();
  await service.add(...['v2.0', 'v10.0', 'v9.9', 'v1.10', 'v1.9'].map((version) => welcomeKo({ naan, version })));
  assert.equal((await service.get(`/kos/${naan}/ko`)).object['version'], 'v10.0');
});

test('a missing KO is 404 and the text names its ark id (S-SHELF-GET-QUERY, S-SHELF-GET-PATH, S-SHELF-404-TEXT)', async () => {
  const naan = uniqueNaan();
  const path = `/kos/${naan}/ko/v1.0`;
  const error = notFound(`${naan}/ko/v1.0`);
  assertShelfError(await service.get(path), { status: 404, path, error });
  assertShelfError(await service.delete(path), { status: 404, path, error });
  assertShelfError(await service.put(path, {}), { status: 404, path, error });
  const plain = `/kos/${naan}/ko`;
  assertShelfError(await service.get(`${plain}?v=v1.0`), { status: 404, path: plain, error });
  assertShelfError(await service.get(plain), {
    status: 404,
    path: plain,
    error: new RegExp(`^${notFound(`${naan}/ko`)}`),
  });
  await service.add(welcomeKo({ naan, version: 'v2.0' }));
  assertShelfError(await service.get(path), { status: 404, path, error });
  assertShelfError(await service.get(`${plain}?v=v1.0`), { status: 404, path: plain, error });
});

test('metadata reads answer JSON whatever Accept says', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const accepts = [
    'text/html, image/gif, image/jpeg, */*; q=0.2',
    'text/html',
    'image/png',
    'application/xml',
    '',
    '*/*',
  ];
  for (const path of ['/kos', `/kos/${ko.id}`, `/kos/${ko.naan}/ko`, `/kos/ark:/${ko.naan}/ko`]) {
    for (const accept of accepts) {
      const answer = await service.get(path, { accept });
      assert.equal(answer.status, 200, `${path} ${accept}`);
      assert.match(String(answer.headers['content-type']), /^application\/json/);
    }
  }
});

test('metadata reads carry an ETag that changes with the metadata', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const read = async (): Promise<string> => String((await service.get(`/kos/${ko.id}`)).headers.etag);
  const first = await read();
  assert.match(first, /^(W\/)?"[^"]+"$/);
  assert.equal(await read(), first);
  assert.equal((await service.get(`/kos/${ko.naan}/ko`)).headers.etag, first);
  await service.put(`/kos/${ko.id}`, { ...ko.metadata, title: 'Another' });
  assert.notEqual(await read(), first);
});

test('a deletion answers 204 without a body and the KO is gone (S-SHELF-DELETE)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  const kept = welcomeKo({ naan: ko.naan, version: 'v2.0' });
  await service.add(ko, kept);
  const answer = await service.delete(`/kos/${ko.id}`);
  assert.equal(answer.status, 204);
  assert.equal(answer.bytes.length, 0);
  const gone = { status: 404, path: `/kos/${ko.id}`, error: notFound(ko.id) };
  assertShelfError(await service.get(`/kos/${ko.id}`), gone);
  assertShelfError(await service.delete(`/kos/${ko.id}`), gone);
  assert.equal((await service.get(`/kos/${ko.id}/src/index.js`)).status, 404);
  assert.equal((await service.get(`/kos/${kept.id}`)).status, 200);
  assert.ok(!(await service.get('/kos')).list.some((metadata) => metadata['@id'] === ko.id));
});
