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
