import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAccessApp, WITH_BASIC } from '../../../test/access/access-app.ts';
import { corsHeadersFor } from './cors.ts';

const ANY = 'https://any.example';
const LISTED = 'https://app.example.org';
const { app } = createAccessApp({ ...WITH_BASIC, corsOrigins: [LISTED] });

test('every path answers a preflight, whether or not there is a route', async () => {
  for (const url of ['/kos', '/a/b/v1/run', '/endpoints', '/nothing/here', '/', '*']) {
    const headers = {
      origin: ANY,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    };
    const answer = await app.inject({ method: 'OPTIONS', url, headers });
    assert.equal(answer.statusCode, 204, url);
    assert.equal(answer.body, '');
    assert.equal(answer.headers['access-control-allow-origin'], '*');
    assert.equal(answer.headers['access-control-allow-methods'], 'GET, HEAD, POST');
    assert.match(
      String(answer.headers['access-control-allow-headers']),
      /Authorization, Content-Encoding, Content-Type/,
    );
    assert.doesNotMatch(String(answer.headers['access-control-allow-headers']), /Forwarded|\*/i);
    assert.equal(answer.headers['access-control-allow-credentials'], undefined);
  }
  assert.equal((await app.inject({ method: 'OPTIONS', url: '/kos' })).statusCode, 204);
});

test('a listed origin may also put and delete', async () => {
  const { headers } = await app.inject({ method: 'OPTIONS', url: '/kos/a/b/v1', headers: { origin: LISTED } });
  assert.equal(headers['access-control-allow-origin'], LISTED);
  assert.equal(headers['vary'], 'Origin');
  assert.equal(headers['access-control-allow-methods'], 'GET, HEAD, POST, PUT, DELETE');
});

test('any origin may see the answers of reads and executions, refusals and 404 included', async () => {
  for (const [method, url, status] of [
    ['GET', '/kos', 200],
    ['POST', '/a/b/v1/run', 200],
    ['GET', '/nothing/here', 404],
  ] as const) {
    const answer = await app.inject({ method, url, headers: { origin: ANY } });
    assert.equal(answer.statusCode, status);
    assert.equal(answer.headers['access-control-allow-origin'], '*', url);
    assert.match(String(answer.headers['access-control-expose-headers']), /\bContent-Location, .*, X-Request-Id$/);
    assert.equal(answer.headers['access-control-allow-credentials'], undefined);
  }
});

test('what the actuator tells, in dev too, is for listed origins alone, and nobody else is promised it', async () => {
  const { app: dev } = createAccessApp({ profile: 'dev', corsOrigins: [LISTED] });
  for (const each of [app, dev]) {
    for (const url of ['/actuator/info', '/actuator/health']) {
      for (const method of ['GET', 'OPTIONS'] as const) {
        const other = await each.inject({ method, url, headers: { origin: ANY } });
        assert.equal(other.headers['access-control-allow-origin'], undefined, url);
        const listed = await each.inject({ method, url, headers: { origin: LISTED } });
        assert.equal(listed.headers['access-control-allow-origin'], LISTED, url);
      }
    }
  }
});

test('in dev a page of a foreign name that leads here is not told what the actuator tells', async () => {
  const { app: dev } = createAccessApp({ profile: 'dev', allowedHosts: ['box.lan'] });
  const ask = (url: string, host: string) => dev.inject({ url, headers: { host } });
  assert.equal((await ask('/actuator/info', 'evil.example:8080')).statusCode, 403);
  const health = await ask('/actuator/health', 'evil.example:8080');
  assert.deepEqual([health.statusCode, health.json<{ seesDetails: boolean }>().seesDetails], [200, false]);
  for (const host of ['localhost:8080', '127.0.0.1', '[::1]:1', 'box.lan'])
    for (const url of ['/actuator/info', '/actuator/health'])
      assert.deepEqual(
        await ask(url, host).then((answer) => [answer.statusCode, answer.json<{ seesDetails: boolean }>().seesDetails]),
        [200, true],
      );
});

test('a read says it to everybody, since a cache may keep it; an execution only to a page', async () => {
  assert.equal((await app.inject('/kos')).headers['access-control-allow-origin'], '*');
  const execution = await app.inject({ method: 'POST', url: '/a/b/v1/run' });
  assert.equal(execution.headers['access-control-allow-origin'], undefined);
});

test('the answer of a change is shown only to a listed origin', async () => {
  const listed = await app.inject({ method: 'POST', url: '/kos', headers: { origin: LISTED } });
  assert.equal(listed.statusCode, 401);
  assert.equal(listed.headers['access-control-allow-origin'], LISTED);
  assert.equal(listed.headers['vary'], 'Origin');
  assert.match(String(listed.headers['access-control-expose-headers']), /KGrid-Manifest-Errors, .*KGrid-Replaced/);
  for (const headers of [{}, { origin: ANY }]) {
    const other = await app.inject({ method: 'POST', url: '/kos', headers });
    assert.equal(other.headers['access-control-allow-origin'], undefined);
  }
});

test('a handler that writes its answer itself gets the same headers as a list', async () => {
  const { app: raw } = createAccessApp();
  raw.post('/raw', { config: { access: 'execution' } }, (request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, [...corsHeadersFor(request)]).end();
  });
  const page = await raw.inject({ method: 'POST', url: '/raw', headers: { origin: ANY } });
  assert.equal(page.headers['access-control-allow-origin'], '*');
  const program = await raw.inject({ method: 'POST', url: '/raw' });
  assert.equal(program.headers['access-control-allow-origin'], undefined);
});
