/** "Lists keep their form; `?limit=&after=` and `?q=` shorten them, a `Link` header leads on." */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from './support/client.ts';
import { resourceKo, uniqueNaan, welcomeKo } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const LISTS = ['/kos', '/endpoints', '/endpoints/javascript'];

async function pageAt(path: string): Promise<{ ids: string[]; list: readonly JsonObject[]; next: string | undefined }> {
  const { status, list, headers, text } = await service.get(path);
  assert.equal(status, 200, text);
  const next = /^<([^<>]+)>; rel="next"$/.exec(String(headers['link'] ?? ''))?.[1];
  assert.equal(next === undefined, headers['link'] === undefined, String(headers['link']));
  return { ids: list.map((each) => String(each['@id'])), list, next };
}

async function allPages(first: string): Promise<JsonObject[]> {
  const all: JsonObject[] = [];
  for (let path: string | undefined = first; path !== undefined;) {
    const { list, next } = await pageAt(path);
    all.push(...list);
    path = next;
  }
  return all;
}

const naan = uniqueNaan();
const kos = [
  welcomeKo({ naan, name: 'alpha', metadata: { title: 'Weight of Größe', keywords: ['Körper', 'BMI'] } }),
  welcomeKo({ naan, name: 'alpha', version: 'v2.0', apiVersion: '2.0' }),
  welcomeKo({ naan, name: 'alpha', version: 'v10.0', apiVersion: '10.0', metadata: { keywords: 'dose (mg) [.*]' } }),
  // One API version of two KO versions.
  welcomeKo({ naan, name: 'beta', version: 'v1' }),
  welcomeKo({ naan, name: 'beta', version: 'v2' }),
  resourceKo({ naan, name: 'gamma', resources: { 'a.txt': 'a' } }),
];

test.before(() => service.serve(...kos));

test('pages of any size have together what the whole list has, in its order', async () => {
  for (const list of LISTS) {
    const whole = await pageAt(list);
    assert.equal(whole.next, undefined);
    for (const limit of [1, 2, 5, 1000]) {
      const paged = await allPages(`${list}?limit=${limit}`);
      assert.deepEqual(paged, whole.list, `${list} by ${limit}`);
    }
    assert.equal((await pageAt(`${list}?limit=1`)).ids.length, 1);
    assert.deepEqual((await pageAt(`${list}/?limit=${whole.ids.length}`)).list, whole.list, 'a full page is the last');
  }
});

test('a page goes on from its place when what it ended with is gone and other things have come', async () => {
  const own = uniqueNaan();
  const of = (name: string, version = 'v1.0') => welcomeKo({ naan: own, name, version, apiVersion: version.slice(1) });
  await service.serve(of('b'), of('b', 'v2.0'), of('d'));
  for (const list of ['/kos', '/endpoints']) {
    const first = await pageAt(`${list}?q=${own}&limit=2`);
    assert.equal(first.ids.length, 2);
    await service.delete(`/kos/${own}/b/v2.0`);
    await service.serve(of('a'), of('c'));
    await service.get(`/actuator/activation/reload/${own}/b`);
    const rest = await allPages(first.next ?? '');
    assert.deepEqual(
      rest.map((each) => String(each['@id']).split('/')[1]),
      ['c', 'd'],
      list,
    );
    await service.delete(`/kos/${own}/a/v1.0`);
    await service.delete(`/kos/${own}/c/v1.0`);
    for (const name of ['a', 'c']) await service.get(`/actuator/activation/reload/${own}/${name}`);
    await service.serve(of('b', 'v2.0'));
  }
});

test('a search finds ids, titles, keywords, engines and endpoints, in any case, and nothing is a pattern', async () => {
  const found = async (list: string, q: string): Promise<string[]> =>
    (await pageAt(`${list}?q=${encodeURIComponent(q)}`)).ids.filter((id) => id.startsWith(`${naan}/`));
  const first = kos[0]?.id ?? '';
  for (const q of ['WEIGHT of größe', ' weight ', 'KÖRPER', 'bmi', `${naan}/ALPHA/v1.0`])
    assert.deepEqual(await found('/kos', q), [first], q);
  assert.deepEqual(await found('/endpoints', 'weight of GRÖßE'), [`${naan}/alpha/1.0/welcome`]);
  assert.deepEqual(await found('/endpoints', 'körper'), [`${naan}/alpha/1.0/welcome`]);
  assert.deepEqual(await found('/kos', 'dose (mg) [.*]'), [`${naan}/alpha/v10.0`]);
  for (const q of ['.*', '[', '(', '\\', '%', '^', '$'])
    assert.deepEqual(await found('/kos', q), q === '.*' || q === '[' || q === '(' ? [`${naan}/alpha/v10.0`] : [], q);
  assert.deepEqual(await found('/kos', `${naan}/gamma/1.0/files`), [`${naan}/gamma/v1.0`], 'by its endpoint');
  assert.ok((await found('/kos', 'Resource')).includes(`${naan}/gamma/v1.0`), 'by its engine');
  assert.deepEqual(await found('/kos', 'no such words'), []);
  assert.equal((await found('/kos', '')).length, kos.length);
  assert.equal((await found('/kos', '   ')).length, kos.length);
});

test('a search has pages, whose links keep it', async () => {
  const query = `q=${encodeURIComponent(naan)}`;
  for (const list of ['/kos', '/endpoints', '/endpoints/JavaScript']) {
    const whole = await pageAt(`${list}?${query}`);
    assert.ok(whole.ids.length > 4, list);
    assert.deepEqual(await allPages(`${list}?${query}&limit=2`), whole.list, list);
    const { next = '' } = await pageAt(`${list}?${query}&limit=2`);
    assert.equal(new URL(next, service.url).searchParams.get('q'), naan);
    assert.equal(new URL(next, service.url).searchParams.get('limit'), '2');
  }
});

test('the KOs of one naan, the versions of one KO and of one endpoint are lists too', async () => {
  const ids = kos.map(({ id }) => id);
  const own = await pageAt(`/kos/${naan}`);
  assert.deepEqual([...own.ids].sort(), [...ids].sort());
  assert.deepEqual(await allPages(`/kos/${naan}?limit=2`), own.list);
  assert.deepEqual((await pageAt(`/kos/${naan}?q=BETA&limit=1`)).ids, [`${naan}/beta/v1`]);
  const missing = await service.get(`/kos/${uniqueNaan()}`);
  assert.equal(missing.status, 404);
  assert.equal(typeof missing.object['Error'], 'string');

  const versions = await pageAt(`/kos/ark:/${naan}/alpha`);
  assert.deepEqual(await allPages(`/kos/ark:/${naan}/alpha?limit=1`), versions.list);
  const endpoint = `/endpoints/${naan}/alpha/welcome`;
  const all = await pageAt(endpoint);
  assert.deepEqual(
    all.ids.map((id) => id.split('/')[2]),
    ['10.0', '2.0', '1.0'],
  );
  assert.deepEqual(await allPages(`${endpoint}?limit=1`), all.list);
  assert.deepEqual((await pageAt(`${endpoint}?q=bmi`)).ids, [`${naan}/alpha/1.0/welcome`]);
  assert.deepEqual((await pageAt(`${endpoint}?q=none`)).ids, [], 'it is there, and nothing matches');
});

test('code and files at one path are two endpoints, also across a page', async () => {
  const own = uniqueNaan();
  const code = { artifact: 'src/index.js', engine: 'javascript', function: 'run' };
  const answer = { responses: { 200: { description: 'OK' } } };
  const both = welcomeKo({
    naan: own,
    files: {
      'b.txt': 'b',
      'deployment.yaml': JSON.stringify({ '/run': { post: code, get: { artifact: 'b.txt', engine: 'resource' } } }),
      'service.yaml': JSON.stringify({
        ...{ openapi: '3.0.2', info: { version: '1.0', title: 'Both' }, servers: [{ url: `/${own}/ko` }] },
        paths: { '/run': { post: answer, get: answer } },
      }),
    },
  });
  await service.serve(both);
  const whole = await pageAt(`/endpoints?q=${own}`);
  assert.equal(whole.ids.length, 2);
  assert.deepEqual(await allPages(`/endpoints?q=${own}&limit=1`), whole.list);
});

test('a page has an entity tag of its own, and the whole list keeps its', async () => {
  const whole = (await service.get('/kos')).headers['etag'];
  const page = (await service.get(`/kos?q=${naan}&limit=2`)).headers['etag'];
  assert.notEqual(page, whole);
  const known = await service.get(`/kos?q=${naan}&limit=2`, { 'if-none-match': String(page) });
  assert.equal(known.status, 304);
  assert.equal((await service.get('/kos', { 'if-none-match': String(whole) })).status, 304);
  const head = await service.send('HEAD', `/kos?q=${naan}&limit=2`);
  assert.match(String(head.headers['link']), /rel="next"/);
});

test('what cannot be meant is 400, and names the parameter', async () => {
  const long = 'x'.repeat(201);
  const questions: [string, RegExp][] = [
    ...['0', '-1', '1e9', '1001', '1.5', 'ten', '0x10', ' 1', '999999999999999999999'].map(
      (value): [string, RegExp] => [`limit=${encodeURIComponent(value)}`, /\blimit\b/],
    ),
    ...['garbage', 'a/b', '../../etc/passwd', 'a/b/c/d/e', '%00', 'a,b,c', '{"$gt":""}', 'kos'].map(
      (value): [string, RegExp] => [`after=${encodeURIComponent(value)}`, /\bafter\b/],
    ),
    [`q=${long}`, /\bq\b/],
    ['limit=1&limit=2', /\blimit\b/],
    ['q=a&q=b', /\bq\b/],
    ['after=a&after=b', /\bafter\b/],
  ];
  for (const list of [...LISTS, `/kos/${naan}`, `/endpoints/${naan}/alpha/welcome`])
    for (const [query, words] of questions) {
      const { status, object } = await service.get(`${list}?${query}`);
      assert.equal(status, 400, `${list}?${query}`);
      assert.match(String(object['Detail'] ?? object['Error']), words, `${list}?${query}`);
    }
  assert.deepEqual((await pageAt('/kos?limit=&after=&q=')).list, (await pageAt('/kos')).list, 'empty ones say nothing');
  assert.equal((await service.get(`/kos?q=%E0%A4%A`)).status, 200);
  assert.ok([200, 431].includes((await service.get(`/kos?limit=1&other=${'x'.repeat(1000)}`)).status));
});
