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

/** What Chromium sends over plain http for a link on a page of another site that asks for no referrer. */
const FOLLOWED = {
  'upgrade-insecure-requests': '1',
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8',
};
/** And for a picture, on a page of another port of the same host. */
const LOADED = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
  accept: 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
  'accept-language': 'en-US,en;q=0.9',
};
const actingPaths = (ko: Ko): string[] =>
  ['/actuator/activation', '/actuator'].flatMap((base) =>
    ['refresh', 'refresh/javascript', `refresh/${ko.naan}/ko`, `refresh/${ko.id}`, 'reload']
      .concat(`reload/${ko.naan}`, `reload/${ko.naan}/ko`, `reload/${ko.naan}/ko/?v=${ko.version}`, `reload/${ko.id}`)
      .map((path) => `${base}/${path}`),
  );

test('a link that a browser follows activates nothing: a page asks for a POST', async () => {
  const credentials = 'curator:s3cret';
  await using secured = await startService({
    profile: 'secure',
    env: { KGRID_USER: 'curator', KGRID_PASSWORD: 's3cret' },
    credentials,
  });
  const ko = welcomeKo({ naan: uniqueNaan() });
  for (const each of [service, secured]) {
    await each.add(ko);
    for (const path of actingPaths(ko)) {
      const marks = [
        FOLLOWED,
        { ...FOLLOWED, 'sec-fetch-site': 'none' },
        { ...FOLLOWED, 'sec-fetch-site': 'cross-site' },
      ];
      // Pages of a knowledge object, and what the editor shows of its descriptor, are of this address too.
      const own = { 'sec-fetch-site': 'same-origin' };
      const loaded = [LOADED, { ...LOADED, referer: `${new URL(each.url).origin}/kos/a/b/c/index.html` }];
      const shown = [
        { ...LOADED, ...own, 'sec-fetch-dest': 'image' },
        { ...FOLLOWED, ...own, 'sec-fetch-dest': 'document' },
      ];
      for (const mark of [...marks, ...loaded, ...shown]) {
        const answer = await each.get(path, mark);
        assert.equal(answer.status, 403, path);
        assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8');
        assert.match(String(answer.headers['content-security-policy']), /^default-src 'none'; form-action 'self';/);
        assert.match(answer.text, /<form method="post"><button/);
        assert.ok(answer.text.includes(`<code>${path.split('?', 1)[0]}</code>`), path);
      }
    }
    assert.deepEqual(await each.endpoints(ko.naan), []);
    const odd = await each.get(`/actuator/reload/a/'"><script>&`, FOLLOWED);
    assert.ok(!odd.text.includes('<script>'));
  }
});

test('what a person sends from that page, an own page and a program do act', async () => {
  const { origin } = new URL(service.url);
  for (const [method, mark] of [
    ['POST', { ...FOLLOWED, origin, 'content-type': 'application/x-www-form-urlencoded' }],
    ['POST', {}],
    ['GET', { ...FOLLOWED, 'sec-fetch-site': 'same-origin' }],
    ['GET', { ...LOADED, 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' }],
    ['GET', { 'user-agent': 'Mozilla/5.0 (Windows NT; Windows NT 10.0) WindowsPowerShell/5.1' }],
    ['GET', { 'user-agent': 'node', 'accept-language': '*', 'sec-fetch-mode': 'cors' }],
    // The default of other activators.
    ['GET', { accept: 'text/html, image/gif, image/jpeg, */*; q=0.2' }],
    ['GET', { 'upgrade-insecure-requests': '1' }],
  ] as const) {
    for (const path of ['/actuator/activation/refresh', '/actuator/reload']) {
      const ko = welcomeKo({ naan: uniqueNaan() });
      await service.add(ko);
      const answer = await service.send(method, path, { headers: mark });
      assert.deepEqual([answer.status, answer.headers['location']], [303, '/endpoints'], JSON.stringify(mark));
      assert.equal((await service.endpoints(ko.naan)).length, 1);
    }
  }
  for (const mark of [{ origin: EVIL }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
    assert.equal((await service.send('POST', '/actuator/reload', { headers: mark })).status, 403);
});

test('no page of another origin, and none of a foreign name, reads what the actuator tells', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const paths = ['info', 'health', 'audit', 'failures', 'settings', 'events', 'problems', 'history', 'loggers']
    .concat('prometheus', 'health/readiness', `logs/${ko.id}`)
    .map((path) => `/actuator/${path}`);
  const { port } = new URL(service.url);
  for (const path of paths) {
    const asked = { origin: EVIL, 'sec-fetch-site': 'cross-site' };
    const { headers } = await service.send('HEAD', path, { headers: asked });
    assert.equal(headers['access-control-allow-origin'], undefined, path);
    const preflight = await service.send('OPTIONS', path, { headers: { origin: EVIL } });
    assert.equal(preflight.headers['access-control-allow-origin'], undefined, path);
    if (path.includes('/health')) continue;
    const rebound = await service.send('GET', path, { headers: { host: `evil.example:${port}` } });
    assert.equal(rebound.status, 403, path);
  }
  const health = await service.get('/actuator/health', { host: `evil.example:${port}` });
  assert.deepEqual(health.object, { status: 'UP' });
});
