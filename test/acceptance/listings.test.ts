import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from './support/client.ts';
import { assertRequestError } from './support/expectations.ts';
import { ko as koOf, resourceKo, uniqueNaan, welcomeKo } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const FIELDS = [
  'title',
  'swaggerLink',
  'hasServiceSpecification',
  'activated',
  'status',
  'engine',
  'knowledgeObject',
  '@id',
  '@context',
];

const idsOf = (endpoints: readonly JsonObject[], naan: string): string[] =>
  endpoints
    .map((endpoint) => String(endpoint['@id']))
    .filter((id) => id.startsWith(`${naan}/`))
    .sort();

test('the root links the parts of the service', async () => {
  for (const accept of ['application/json', '*/*', undefined]) {
    const answer = await service.get('/', accept === undefined ? {} : { accept });
    assert.equal(answer.status, 200);
    assert.match(String(answer.headers['content-type']), /^application\/json/);
    assert.equal(typeof answer.object['description'], 'string');
  }
  const links = (await service.get('/')).object['links'] as { rel: string; href: string }[];
  const byRel = new Map(links.map((link) => [link.rel, new URL(link.href, service.url).href]));
  const expected = {
    activator_health: '/actuator/health',
    activator_info: '/actuator/info',
    activator_ko_list: '/kos',
    activator_endpoint_list: '/endpoints',
  };
  for (const [rel, path] of Object.entries(expected)) {
    assert.equal(byRel.get(rel), new URL(path, service.url).href, rel);
    assert.equal((await service.get(path)).status, 200);
  }
});

test('a browser gets a page at the root', async () => {
  const answer = await service.get('/', { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' });
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers['content-type']), /^text\/html/);
  assert.match(answer.text, /<html/i);
});

test('an endpoint representation has all its fields (S-ENDPOINT-FIELDS)', async () => {
  const naan = uniqueNaan();
  const ko = welcomeKo({
    naan,
    metadata: { title: 'A title', hasServiceSpecification: 'doc/api.yaml' },
    files: { 'service.yaml': undefined },
  });
  const moved = { ...ko.files, 'doc/api.yaml': String(welcomeKo({ naan }).files['service.yaml']) };
  await service.serve({ ...ko, files: moved });
  const endpoint = (await service.get(`/endpoints/${naan}/ko/1.0/welcome`)).object;
  assert.deepEqual(Object.keys(endpoint), FIELDS);
  assert.equal(endpoint['title'], 'A title');
  assert.equal(endpoint['hasServiceSpecification'], `/kos/${naan}/ko/v1.0/doc/api.yaml`);
  assert.equal((await service.get(String(endpoint['hasServiceSpecification']))).status, 200);
  assert.equal(endpoint['status'], 'ACTIVATED');
  assert.equal(endpoint['engine'], 'javascript');
  assert.equal(endpoint['knowledgeObject'], `/kos/${naan}/ko/v1.0`);
  assert.equal(endpoint['@id'], `${naan}/ko/1.0/welcome`);
  assert.deepEqual(endpoint['@context'], [
    'https://kgrid.org/koio/contexts/knowledgeobject.jsonld',
    'https://kgrid.org/koio/contexts/implementation.jsonld',
  ]);
});

test('activated is a local date-time without zone, with a fraction of seconds (S-ENDPOINT-ACTIVATED)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  const before = Date.now();
  await service.serve(ko);
  const activated = String((await service.endpoints(ko.naan))[0]?.['activated']);
  assert.match(activated, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3,9}$/);
  const minutes = (new Date(`${activated.slice(0, 23)}Z`).getTime() - before) / 60_000;
  const offset = Math.round(minutes / 15) * 15;
  assert.ok(Math.abs(minutes - offset) < 1, `${activated} is now, in some zone`);
});

test('the swaggerLink opens an editor with the descriptor on the address that the client used (S-ENDPOINT-SWAGGER)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const linkAt = async (host: string): Promise<URL> => {
    const answer = await service.get(`/endpoints/${ko.naan}/ko/1.0/welcome`, { host });
    return new URL(String(answer.object['swaggerLink']));
  };
  const { host } = new URL(service.url);
  const link = await linkAt(host);
  assert.equal(link.origin, new URL(service.url).origin);
  const shown = new URL(link.searchParams.get('url') ?? '', link);
  assert.equal(shown.href, new URL(`/kos/${ko.id}/service.yaml`, service.url).href);
  const page = await service.get(link.pathname + link.search);
  assert.equal(page.status, 200);
  assert.match(String(page.headers['content-type']), /^text\/html/);
  assert.equal((await linkAt('grid.example.org:8443')).host, 'grid.example.org:8443');
});

test('the listing has all endpoints of all KOs (S-END-ALL)', async () => {
  const naan = uniqueNaan();
  const post = (name: string) => ({
    path: `/${name}`,
    consumes: ['application/json'],
    deployment: { artifact: 'src/index.js', engine: 'javascript', function: name },
  });
  const two = koOf({
    naan,
    endpoints: [post('one'), post('two')],
    files: { 'src/index.js': 'function one() { return 1; } function two() { return 2; }' },
  });
  await service.serve(
    two,
    welcomeKo({ naan, name: 'other' }),
    resourceKo({ naan, name: 'res', resources: { 'a.txt': 'a' } }),
  );
  const expected = [`${naan}/ko/1.0/one`, `${naan}/ko/1.0/two`, `${naan}/other/1.0/welcome`, `${naan}/res/1.0/files`];
  for (const path of ['/endpoints', '/endpoints/']) {
    const answer = await service.get(path);
    assert.equal(answer.status, 200);
    assert.deepEqual(idsOf(answer.list, naan), expected);
    for (const endpoint of answer.list) {
      if (String(endpoint['@id']).startsWith(naan)) assert.deepEqual(Object.keys(endpoint), FIELDS);
    }
  }
  assert.equal((await service.post(`/${naan}/ko/1.0/two`, {})).object['result'], 2);
});

test('the listing of an engine has its endpoints only, whatever the case of its name (S-END-ENGINE)', async () => {
  const naan = uniqueNaan();
  await service.serve(welcomeKo({ naan }), resourceKo({ naan, name: 'res', resources: { 'a.txt': 'a' } }));
  for (const engine of ['javascript', 'JavaScript', 'JAVASCRIPT']) {
    const answer = await service.get(`/endpoints/${engine}`);
    assert.equal(answer.status, 200);
    assert.deepEqual(idsOf(answer.list, naan), [`${naan}/ko/1.0/welcome`]);
    assert.ok(answer.list.every((endpoint) => endpoint['engine'] === 'javascript'));
  }
  assert.deepEqual(idsOf((await service.get('/endpoints/resource')).list, naan), [`${naan}/res/1.0/files`]);
});

test('the listing of one endpoint has every API version, or the one of v (S-END-VERSIONS, S-END-VERSION-QUERY)', async () => {
  const naan = uniqueNaan();
  const version = (n: string) => welcomeKo({ naan, version: `v${n}`, apiVersion: n });
  await service.serve(version('1.0'), version('2.0'), welcomeKo({ naan, name: 'other' }));
  const path = `/endpoints/${naan}/ko/welcome`;
  const all = await service.get(path);
  assert.equal(all.status, 200);
  assert.deepEqual(idsOf(all.list, naan), [`${naan}/ko/1.0/welcome`, `${naan}/ko/2.0/welcome`]);
  const one = await service.get(`${path}?v=2.0`);
  assert.equal(one.status, 200);
  assert.deepEqual(idsOf(one.list, naan), [`${naan}/ko/2.0/welcome`]);
  assert.equal(one.list.length, 1);
});

test('one endpoint by its version is a single object (S-END-ONE)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const answer = await service.get(`/endpoints/${ko.naan}/ko/1.0/welcome`);
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, (await service.endpoints(ko.naan))[0]);
});

test('listings of unknown endpoints are 404', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const paths = [
    `/endpoints/${uniqueNaan()}/ko/welcome`,
    `/endpoints/${ko.naan}/none/welcome`,
    `/endpoints/${ko.naan}/ko/none`,
    `/endpoints/${ko.naan}/ko/9.9/welcome`,
    `/endpoints/${ko.naan}/ko/1.0/none`,
  ];
  for (const path of paths) {
    assertRequestError(await service.get(path), { status: 404, path, title: 'Endpoint not found', detail: /./ });
  }
  const path = `/endpoints/${ko.naan}/ko/welcome`;
  assertRequestError(await service.get(`${path}?v=9.9`), {
    status: 404,
    path,
    title: 'Endpoint not found',
    detail: /./,
  });
});

test('an endpoint name of several segments is listed and executed', async () => {
  const ko = welcomeKo({ naan: uniqueNaan(), endpoint: 'deep/er/name' });
  await service.serve(ko);
  assert.equal((await service.endpoints(ko.naan))[0]?.['@id'], `${ko.naan}/ko/1.0/deep/er/name`);
  const answer = await service.post(`/${ko.naan}/ko/1.0/deep/er/name`, { name: 'Ada' });
  assert.equal(answer.object['result'], 'Welcome to the Knowledge Grid, Ada');
  assert.equal((await service.get(`/endpoints/${ko.naan}/ko/1.0/deep/er/name`)).object['status'], 'ACTIVATED');
});
