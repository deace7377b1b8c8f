import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { basicOf, createAccessApp, PROTECTED, WITH_BASIC } from '../../../test/access/access-app.ts';
import type { AccessAppOptions } from '../../../test/access/access-app.ts';

const CHANGES = PROTECTED.filter(({ path }) => path !== '/actuator/info');
const HOST = 'localhost:8080';
const LISTED = 'https://app.example.org';

type Headers = Record<string, string>;
const dev = (options: AccessAppOptions = {}, trustProxy = false): FastifyInstance =>
  createAccessApp(
    { profile: 'dev', corsOrigins: [`${LISTED.toUpperCase()}:443/`, 'null', '*'], ...options },
    { trustProxy },
  ).app;

async function assertStatus(
  app: FastifyInstance,
  status: number,
  table: Record<string, Headers>,
  requests: typeof CHANGES = CHANGES,
): Promise<void> {
  for (const [name, headers] of Object.entries(table)) {
    for (const { method, path: url } of requests) {
      const answer = await app.inject({ method, url, headers: { host: HOST, ...headers } });
      assert.equal(answer.statusCode, status, `${name}: ${method} ${url}: ${answer.body}`);
    }
  }
}

test("a browser's request from another site changes nothing, in dev too", async () => {
  await assertStatus(dev(), 403, {
    'another site': { origin: 'https://evil.example' },
    'a fetch of another site': { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    'a link, form or image of another site': { 'sec-fetch-site': 'cross-site' },
    'another port of this machine': { origin: 'http://localhost:3000' },
    'a sibling host': { 'sec-fetch-site': 'same-site' },
    'another name of this machine': { origin: 'http://127.0.0.1:8080' },
    'an opaque origin, such as a sandboxed frame': { origin: 'null', 'sec-fetch-site': 'same-origin' },
    'an origin that is none': { origin: 'localhost:8080' },
    'an extension': { origin: 'moz-extension://localhost:8080' },
    'a browser without Sec-Fetch-Site': { referer: 'http://evil.example/page' },
    'a user name that looks like this host': { origin: 'http://localhost:8080@evil.example' },
    'a host that begins like this one': { origin: 'http://localhost:8080.evil.example' },
    'a word that no browser sends': { 'sec-fetch-site': 'same-origin, cross-site' },
    'a link on a listed page': { 'sec-fetch-site': 'cross-site', referer: `${LISTED}/` },
  });
});

test('requests of this service’s own pages, of listed origins and of programs pass', async () => {
  await assertStatus(dev(), 200, {
    'a program': {},
    'an own page': { origin: `http://${HOST}`, 'sec-fetch-site': 'same-origin', referer: `http://${HOST}/doc` },
    'an own page in an older browser': { origin: `http://${HOST}` },
    'a link on an own page': { 'sec-fetch-site': 'same-origin', referer: `http://${HOST}/console` },
    'an address that was typed in': { 'sec-fetch-site': 'none' },
    'a page of a listed origin': { origin: LISTED, 'sec-fetch-site': 'cross-site', referer: `${LISTED}/page` },
  });
});

test('the refusal says which setting allows the origin', async () => {
  const answer = await dev().inject({
    method: 'POST',
    url: '/kos',
    headers: { host: HOST, origin: 'https://evil.example' },
  });
  const { message } = answer.json<{ message: string }>();
  assert.match(message, /https:\/\/evil\.example/);
  assert.match(message, /--cors/);
  assert.equal(answer.headers['access-control-allow-origin'], undefined);
});

test('a valid login does not make a cross-site request one of this site', async () => {
  const { app } = createAccessApp(WITH_BASIC);
  const login = { host: HOST, authorization: basicOf() };
  assert.equal((await app.inject({ method: 'POST', url: '/kos', headers: login })).statusCode, 200);
  const headers = { ...login, origin: 'https://evil.example' };
  assert.equal((await app.inject({ method: 'POST', url: '/kos', headers })).statusCode, 403);
});

test('pages of any site may read and execute', async () => {
  const app = dev();
  const headers = { host: HOST, origin: 'https://any.example', 'sec-fetch-site': 'cross-site' };
  for (const [method, url] of [
    ['GET', '/kos'],
    ['GET', '/kos/a/b/v1'],
    ['POST', '/a/b/v1/run'],
    ['GET', '/actuator/health'],
    ['GET', '/actuator/info'],
  ] as const) {
    assert.equal((await app.inject({ method, url, headers })).statusCode, 200, url);
  }
});

test('behind a proxy that ends TLS the page is https, and public names are own ones', async () => {
  const publicHosts = ['kgrid.example.org', 'other.example.org:8443'];
  const behind = { loopbackOnly: false, publicHosts, allowedHosts: ['any.example.org', 'told.example.org'] };
  await assertStatus(dev(behind), 200, {
    'a proxy that keeps the host': { host: 'any.example.org', origin: 'https://any.example.org' },
    'the port of the scheme is written': { host: 'any.example.org:443', origin: 'https://any.example.org' },
    'a proxy that changes the host': { host: '10.0.0.5:8080', origin: 'https://kgrid.example.org' },
    'a public name with a port': { host: '10.0.0.5:8080', origin: 'https://other.example.org:8443' },
  });
  await assertStatus(dev(behind), 403, {
    'another port of a public name': { host: '10.0.0.5:8080', origin: 'https://kgrid.example.org:9000' },
    'an address that a page invents': {
      host: '10.0.0.5:8080',
      origin: 'https://evil.example',
      'x-forwarded-host': 'evil.example',
    },
  });
  await assertStatus(dev(behind, true), 200, {
    'a trusted proxy that tells the host': {
      host: '10.0.0.5:8080',
      origin: 'https://told.example.org',
      'x-forwarded-host': 'told.example.org',
    },
  });
});

test('on loopback a foreign name does not lead a page here', async () => {
  const rebound = 'evil.example:8080';
  await assertStatus(dev(), 403, {
    'a page of that name': { host: rebound, origin: `http://${rebound}` },
    'with Sec-Fetch-Site': { host: rebound, 'sec-fetch-site': 'same-origin' },
    'a name that begins like this one': { host: 'localhost.evil.example', 'sec-fetch-site': 'same-origin' },
    'digits that are a name': { host: '127.0.0.1.evil.example', 'sec-fetch-site': 'same-origin' },
    'a host that cannot be read': { host: 'a b', 'sec-fetch-site': 'same-origin' },
  });
  await assertStatus(dev({}, true), 403, {
    'a name that the page says was forwarded': {
      host: rebound,
      'sec-fetch-site': 'same-origin',
      'x-forwarded-host': HOST,
    },
  });
  // A GET to one's own origin may show nothing of the browser.
  const activations = CHANGES.filter(({ method }) => method === 'GET');
  await assertStatus(dev(), 403, { 'no mark at all': { host: rebound } }, activations);
  await assertStatus(
    dev(),
    200,
    { 'a program': { host: rebound } },
    CHANGES.filter(({ method }) => method !== 'GET'),
  );
  for (const host of ['localhost', 'localhost:8080', '127.0.0.1:8080', '127.1.2.3', '[::1]:8080', 'LOCALHOST:8080']) {
    await assertStatus(dev(), 200, { [host]: { host, 'sec-fetch-site': 'same-origin' } });
  }
  await assertStatus(dev({ publicHosts: ['Kgrid.example.org'] }), 200, {
    'a public name': { host: 'kgrid.example.org:8443', 'sec-fetch-site': 'same-origin' },
  });
  await assertStatus(dev({ loopbackOnly: false }), 200, {
    'a public address': { host: '192.0.2.7:8080', 'sec-fetch-site': 'same-origin' },
  });
});

test('in dev a foreign name leads no page to any address, and the refusal says how to add a name', async () => {
  const app = (trustProxy = false): FastifyInstance =>
    dev({ loopbackOnly: false, allowedHosts: ['box.lan', 'activator:8080'] }, trustProxy);
  const rebound = 'evil.example:8080';
  await assertStatus(app(), 403, {
    'a page of that name': { host: rebound, origin: `http://${rebound}` },
    'only Sec-Fetch-Mode': { host: rebound, 'sec-fetch-mode': 'cors' },
    'an allowed name with another port': { host: 'activator:9090', 'sec-fetch-site': 'same-origin' },
    'a name below an allowed one': { host: 'evil.box.lan', 'sec-fetch-site': 'same-origin' },
    'an address that is a name': { host: '10.0.0.5.evil.example', 'sec-fetch-site': 'same-origin' },
  });
  const activations = CHANGES.filter(({ method }) => method === 'GET');
  await assertStatus(app(), 403, { 'no mark at all': { host: rebound } }, activations);
  const others = CHANGES.filter(({ method }) => method !== 'GET');
  await assertStatus(app(), 200, { 'a program': { host: rebound } }, others);
  for (const host of ['10.0.0.5:8080', '[fe80::1]:8080', 'localhost', 'BOX.lan', 'box.lan:99', 'activator:8080'])
    await assertStatus(app(), 200, { [host]: { host, origin: `http://${host.toLowerCase()}` } });
  // A page past the proxy may send any header to its own origin; through it, the proxy says what it was asked for.
  await assertStatus(app(true), 403, {
    'past a trusted proxy': { host: rebound, 'sec-fetch-site': 'same-origin', 'x-forwarded-host': 'box.lan' },
    'through a trusted proxy': { host: '10.0.0.5', origin: `http://${rebound}`, 'x-forwarded-host': rebound },
    'through two': { host: '10.0.0.5', 'sec-fetch-site': 'same-origin', 'x-forwarded-host': `${rebound}, box.lan` },
  });
  await assertStatus(app(true), 200, {
    'through a trusted proxy': { host: '10.0.0.5', origin: 'http://box.lan', 'x-forwarded-host': 'box.lan' },
  });
  const answer = await app().inject({ method: 'GET', url: '/actuator/activation/reload', headers: { host: rebound } });
  assert.match(answer.json<{ message: string }>().message, /^"evil\.example:8080" is not a name of .* --allow-host/);
});

test('where a login is needed, the names of an address that others reach are not asked for', async () => {
  const { app } = createAccessApp({ ...WITH_BASIC, loopbackOnly: false });
  const headers = { host: 'kgrid.example.org', authorization: basicOf(), 'sec-fetch-site': 'same-origin' };
  for (const { method, path: url } of CHANGES)
    assert.equal((await app.inject({ method, url, headers })).statusCode, 200, url);
});
