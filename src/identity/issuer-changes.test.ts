import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { createAccessApp } from '../../test/access/access-app.ts';
import { AUDIENCE, startIssuer } from '../../test/access/issuer.ts';
import { createBearerCheck } from './bearer.ts';
import { IssuerUnavailable } from './issuer.ts';

test('after a change of keys the new one is fetched and the old one no longer counts', async () => {
  await using issuer = await startIssuer();
  const check = createBearerCheck({ issuer: issuer.url, audience: AUDIENCE }, 0);
  const old = await issuer.forge();
  assert.ok('principal' in (await check(old)));
  await issuer.rotate();
  assert.ok('principal' in (await check(await issuer.token())));
  assert.ok('refused' in (await check(old)));
});

test('tokens of unknown keys make the issuer be asked only once in a while', async () => {
  await using issuer = await startIssuer();
  const check = createBearerCheck({ issuer: issuer.url, audience: AUDIENCE });
  const old = await issuer.forge();
  await issuer.rotate();
  const before = issuer.asked.length;
  for (let i = 0; i < 5; i++) assert.ok('refused' in (await check(old)));
  assert.deepEqual(issuer.asked.slice(before), ['/.well-known/openid-configuration', '/jwks']);
});

test('a token that cannot be checked is 503, never accepted, and counts as none on open routes', async () => {
  await using issuer = await startIssuer();
  const service = createAccessApp({ oauth: { issuer: issuer.url, audience: AUDIENCE } });
  const headers = { authorization: `Bearer ${await issuer.forge()}` };
  await issuer.stop();

  const answer = await service.app.inject({ method: 'POST', url: '/kos', headers });
  assert.equal(answer.statusCode, 503);
  assert.equal(answer.headers['retry-after'], '10');
  assert.match(answer.json<{ message: string }>().message, /issuer does not answer/);
  assert.equal(service.handled, 0);
  const health = await service.app.inject({ url: '/actuator/health', headers });
  assert.equal(health.json<{ seesDetails: boolean }>().seesDetails, false);
  await service.app.close();
  assert.match(service.lines.join(), /"event":"login-refused","reason":"unchecked"/);
});

test('keys that were fetched serve on while the issuer is down', async () => {
  await using issuer = await startIssuer();
  const check = createBearerCheck({ issuer: issuer.url, audience: AUDIENCE });
  const token = await issuer.forge();
  await check(token);
  await issuer.stop();
  assert.ok('principal' in (await check(token)));
});

/** An issuer in name only: it answers as `serve` says. */
async function startServer(serve: RequestListener): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

test('metadata are found where RFC 8414 puts them, for an issuer with a path, once it is up', async () => {
  await using issuer = await startIssuer();
  let up = false;
  await using server = await startServer((request, response) => {
    const found = up && request.url === '/.well-known/oauth-authorization-server/tenant';
    response
      .writeHead(found ? 200 : 404)
      .end(JSON.stringify({ issuer: `${server.url}/tenant`, jwks_uri: `${issuer.url}/jwks` }));
  });
  const check = createBearerCheck({ issuer: `${server.url}/tenant/`, audience: AUDIENCE });
  const token = await issuer.forge({ iss: `${server.url}/tenant` });
  await assert.rejects(check(token), IssuerUnavailable);
  up = true;
  assert.ok('principal' in (await check(token)));
});

test('keys that moved are found again', async () => {
  await using issuer = await startIssuer();
  let keys = `${issuer.url}/nothing`;
  await using server = await startServer((_request, response) =>
    response.end(JSON.stringify({ issuer: server.url, jwks_uri: keys })),
  );
  const check = createBearerCheck({ issuer: server.url, audience: AUDIENCE });
  const token = await issuer.forge({ iss: server.url });
  await assert.rejects(check(token), IssuerUnavailable);
  keys = `${issuer.url}/jwks`;
  assert.ok('principal' in (await check(token)));
});

test('metadata that cannot be trusted are not followed', async () => {
  await using issuer = await startIssuer();
  let answer = { status: 200, headers: {}, body: '' };
  await using server = await startServer((_request, response) =>
    response.writeHead(answer.status, answer.headers).end(answer.body),
  );
  const { url } = server;
  const json = (value: unknown): typeof answer => ({ status: 200, headers: {}, body: JSON.stringify(value) });
  const location = `${issuer.url}/.well-known/openid-configuration`;
  const cases: [typeof answer, RegExp][] = [
    [json({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }), /names itself/],
    [json({ issuer: url, jwks_uri: 'http://example.org/jwks' }), /no jwks_uri that is https/],
    [json({ issuer: url }), /no jwks_uri that is https/],
    [json(null), /names itself/],
    [{ status: 200, headers: {}, body: '<html>' }, /not valid JSON/],
    [{ status: 302, headers: { location }, body: '' }, /status 302/],
  ];
  const token = await issuer.forge({ iss: url });
  for (const [each, reason] of cases) {
    answer = each;
    const check = createBearerCheck({ issuer: url, audience: AUDIENCE });
    await assert.rejects(check(token), (error) => error instanceof IssuerUnavailable && reason.test(error.message));
  }
  assert.deepEqual(issuer.asked, []);
});
