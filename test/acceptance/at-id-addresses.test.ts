import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRequestError, assertShelfError } from './support/expectations.ts';
import type { JsonObject } from './support/client.ts';
import { uniqueNaan, welcomeKo } from './support/ko.ts';
import { BMI, api, deployment, secondClient, secondKo, uniqueWord } from './support/second-generation.ts';
import type { Files } from './support/second-generation.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const { serve } = secondClient(service);
const ADA = { weight: 70, height: 1.75 };

const bmiKo = (atId: string, more: Readonly<Record<string, unknown>> = {}, files: Files = {}): Files =>
  secondKo({
    atId,
    metadata: { hasService: api(['.']), ...more },
    files: { 'bmi.js': BMI, 'deployment.yaml': deployment(), ...files },
  });

const word = uniqueWord();
const address = `https://example.org/kos/${uniqueWord('a-url')}`;
const marked = `_:${uniqueWord()}`;
const three = `${uniqueNaan()}/bmi/v1.0`;
const places = new Map<string, string>();
for (const atId of [word, address, marked, three])
  places.set(
    atId,
    await serve(
      bmiKo(
        atId,
        {},
        {
          'service.yaml': String(secondKo({ atId, serverUrl: `/endpoints/${atId.replace('_:', '')}` })['service.yaml']),
        },
      ),
    ),
  );
const placeOf = (atId: string): string => places.get(atId) ?? '';

/** What an `@id` may look like in a path. */
const spellings = (atId: string): string[] => [
  encodeURIComponent(atId),
  atId,
  atId.replace('https://', 'https:/'),
  encodeURIComponent(atId).replaceAll('%2F', '%2f'),
  `${atId}/`.replace(/\/+$/, ''),
];

test('POST /endpoints/<@id>/<endpoint> is an execution, in the encoded and the plain spelling', async () => {
  for (const [atId, place] of places) {
    const [naan = '', name = ''] = place.split('/');
    for (const spelled of spellings(atId)) {
      const answer = await service.post(`/endpoints/${spelled}/bmi`, ADA);
      assert.equal(answer.status, 200, `${spelled}: ${answer.text}`);
      const own = await service.post(`/${naan}/${name}/1.0/bmi`, ADA);
      assert.equal(answer.text, own.text);
      for (const header of ['content-type', 'content-location', 'kgrid-package-digest', 'x-content-type-options'])
        assert.equal(answer.headers[header], own.headers[header], header);
      assert.equal(answer.headers['content-location'], `/${naan}/${name}/1.0/bmi`);
    }
  }
});

test('POST /endpoints/… takes what the rules of execution take, of the first generation too', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const own = await service.post(`/${ko.naan}/${ko.name}/${ko.apiVersion}/welcome`, { name: 'Ada' });
  assert.equal(own.status, 200, own.text);
  for (const path of [
    `${ko.id}/welcome`,
    `${encodeURIComponent(ko.id)}/welcome`,
    `${encodeURIComponent(`ark:/${ko.id}`)}/welcome`,
    `${ko.naan}/${ko.name}/${ko.apiVersion}/welcome`,
    `${ko.naan}/${ko.name}/welcome`,
    `${ko.naan}/${ko.name}/welcome?v=${ko.apiVersion}`,
    `${ko.id}/welcome?v=${ko.version}`,
  ]) {
    const answer = await service.post(`/endpoints/${path}`, { name: 'Ada' });
    assert.equal(answer.text, own.text, path);
  }
});

test('GET below /endpoints gives the endpoints of an @id, after all that the specification says', async () => {
  for (const [atId, place] of places) {
    const own = (await service.get('/endpoints')).list.find((each) => each['knowledgeObject'] === `/kos/${place}`);
    for (const spelled of spellings(atId)) {
      assert.deepEqual((await service.get(`/endpoints/${spelled}/bmi`)).json, own, spelled);
      assert.deepEqual((await service.get(`/endpoints/${spelled}`)).json, [own], spelled);
    }
  }
  const javascript = bmiKo('javascript');
  await serve(javascript);
  assert.ok((await service.get('/endpoints/javascript')).list.length > 1, 'an engine wins over an @id');
  assert.equal((await service.post('/endpoints/javascript/bmi', ADA)).status, 200);
});

test('the 404 of a call says both names', async () => {
  const place = placeOf(address);
  const [naan = '', name = ''] = place.split('/');
  for (const path of [`/endpoints/${address}/none`, `/${naan}/${name}/none`])
    assertRequestError(await service.post(path, ADA), {
      status: 404,
      path,
      title: 'Endpoint not found',
      detail: new RegExp(`${naan}/${name}/none \\(@id ${address}\\).*endpoints of ${naan}/${name}: bmi`),
    });
  const path = '/endpoints/https://example.org/nothing/run';
  assertRequestError(await service.post(path, ADA), {
    status: 404,
    path,
    title: 'Endpoint not found',
    detail: /^No active endpoints found for https:\/\/example\.org\/nothing\/run$/,
  });
});

test('/kos/<@id> is the metadata, byte for byte, and names the place', async () => {
  for (const [atId, place] of places) {
    const own = await service.get(`/kos/${place}`);
    for (const spelled of spellings(atId)) {
      const answer = await service.get(`/kos/${spelled}`);
      assert.equal(answer.text, own.text, spelled);
      for (const header of ['content-location', 'etag', 'kgrid-package-digest', 'content-type'])
        assert.equal(answer.headers[header], own.headers[header], `${spelled} ${header}`);
      assert.equal(answer.headers['content-location'], `/kos/${place}`);
      const head = await service.send('HEAD', `/kos/${spelled}`);
      assert.deepEqual([head.status, head.headers['content-location']], [200, `/kos/${place}`]);
      const zip = await service.get(`/kos/${spelled}`, { accept: 'application/zip' });
      assert.equal(zip.bytes.toString('latin1', 0, 2), 'PK');
    }
  }
});

test('/kos/<@id>/service is the descriptor and /kos/<@id>/doc the page', async () => {
  for (const [atId, place] of places) {
    const own = await service.get(`/kos/${place}/service.yaml`);
    for (const spelled of spellings(atId)) {
      const answer = await service.get(`/kos/${spelled}/service`);
      assert.equal(answer.text, own.text, spelled);
      assert.equal(answer.headers['content-location'], `/kos/${place}/service.yaml`);
      assert.equal(answer.headers['content-type'], own.headers['content-type']);
      const doc = await service.get(`/kos/${spelled}/doc`);
      assert.deepEqual(
        [doc.status, doc.headers['location']],
        [302, `/doc?url=${encodeURIComponent(`/kos/${place}/service.yaml`)}`],
      );
      assert.equal((await service.send('HEAD', `/kos/${spelled}/doc`)).status, 302);
      assert.equal((await service.send('HEAD', `/kos/${spelled}/service`)).status, 200);
    }
    assert.equal((await service.get(`/kos/${place}/service`)).text, own.text);
  }
});

test('PUT and DELETE at an @id are 405 and name the place', async () => {
  for (const atId of [word, address]) {
    for (const spelled of spellings(atId).flatMap((each) => [each, `${each}/service`, `${each}/doc`]))
      for (const method of ['PUT', 'DELETE']) {
        const path = `/kos/${spelled}`;
        const answer = await service.send(method, path, {
          body: '{}',
          headers: { 'content-type': 'application/json' },
        });
        assertShelfError(answer, { status: 405, path, error: new RegExp(`/kos/${placeOf(atId)}$`) });
        assert.equal(answer.headers['allow'], 'GET, HEAD');
      }
    assert.equal((await service.get(`/kos/${placeOf(atId)}`)).status, 200);
  }
});

test('the place of another is not taken by metadata that were put', async () => {
  const atId = uniqueWord();
  const place = await serve(bmiKo(atId));
  const other = await serve(bmiKo(`${uniqueNaan()}/z/v99.0`));
  const metadata = (await service.get(`/kos/${other}`)).object;
  assert.equal((await service.put(`/kos/${other}`, { ...metadata, '@id': atId })).status, 200);
  assert.equal((await service.get(`/actuator/activation/reload/${other}`)).status, 303);
  assert.equal((await service.get(`/kos/${atId}`)).headers['content-location'], `/kos/${place}`);
  assert.equal((await service.post(`/endpoints/${atId}/bmi`, ADA)).status, 200);
  const missing = `${uniqueNaan()}/q/v1`;
  assert.equal((await service.put(`/kos/${other}`, { ...metadata, '@id': missing })).status, 200);
  assert.equal((await service.get(`/kos/${missing}`)).status, 404, 'an id of three parts names its place alone');
});

test('an @id with percent signs, markup or the names of paths is found by what it is', async () => {
  const suffix = uniqueWord('x');
  for (const [atId, plain] of [
    [`https://example.org/a%20b-${suffix}`, `https://example.org/a%20b-${suffix}`],
    [`<img src=x onerror=alert(1)>-${suffix}`, undefined],
    [`../../etc/passwd-${suffix}`, `../../etc/passwd-${suffix}`],
    [`actuator/activation/reload-${suffix}`, `actuator/activation/reload-${suffix}`],
    [`doc`, `doc`],
    [`https://example.org/${suffix}/service`, `https://example.org/${suffix}/service`],
  ] as const) {
    const place = await serve(bmiKo(atId, {}, {}));
    for (const spelled of [encodeURIComponent(atId), ...(plain === undefined ? [] : [plain])]) {
      assert.equal((await service.get(`/kos/${spelled}`)).headers['content-location'], `/kos/${place}`, spelled);
      assert.equal((await service.get(`/kos/${spelled}/service`)).status, 200, spelled);
      const answer = await service.post(`/endpoints/${spelled}/bmi`, ADA);
      assert.equal(answer.status, 200, `${spelled} ${answer.text}`);
      assert.equal(((answer.object['info'] as JsonObject)['ko'] as JsonObject)['@id'], atId);
    }
  }
});
