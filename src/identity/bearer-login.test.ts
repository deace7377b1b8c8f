import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createPublicKey } from 'node:crypto';
import { SignJWT, generateKeyPair, UnsecuredJWT } from 'jose';
import { AUDIENCE, startIssuer, type TestIssuer } from '../../test/access/issuer.ts';
import { createAccessApp, type AccessApp } from '../../test/access/access-app.ts';

let issuer: TestIssuer;
let service: AccessApp;

before(async () => {
  issuer = await startIssuer();
  service = createAccessApp({ oauth: { issuer: issuer.url, audience: AUDIENCE, scope: 'kgrid.write' } });
});
after(() => issuer[Symbol.asyncDispose]());

const writeWith = async (token: string): Promise<{ status: number; challenge: unknown }> => {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await service.app.inject({ method: 'DELETE', url: '/kos/a/b/v1', headers });
  return { status: answer.statusCode, challenge: answer.headers['www-authenticate'] };
};
const refused = { status: 401, challenge: 'Bearer realm="kgrid", error="invalid_token"' };
const now = (): number => Math.floor(Date.now() / 1000);

test('a token of the issuer with the scope may write', async () => {
  assert.equal((await writeWith(await issuer.token('kgrid.write'))).status, 200);
  assert.equal((await writeWith(await issuer.token('kgrid.other kgrid.write'))).status, 200);
});

test('a token without the scope is known but may not write', async () => {
  for (const scope of ['', 'kgrid.other']) {
    const token = await issuer.token(scope);
    const { status, challenge } = await writeWith(token);
    assert.equal(status, 403);
    assert.equal(challenge, 'Bearer realm="kgrid", error="insufficient_scope", scope="kgrid.write"');
    const headers = { authorization: `bearer ${token}` };
    const info = await service.app.inject({ url: '/actuator/info', headers });
    const { until, ...principal } = info.json<{ principal: { until: number } }>().principal;
    assert.deepEqual(principal, { name: 'loader', kind: 'oauth' });
    assert.ok(until > Date.now(), 'its token counts for a while');
    const health = await service.app.inject({ url: '/actuator/health', headers });
    assert.equal(health.json<{ seesDetails: boolean }>().seesDetails, true);
  }
});

test('where several scopes are needed, one is not enough', async () => {
  const { app } = createAccessApp({
    oauth: { issuer: issuer.url, audience: AUDIENCE, scope: 'kgrid.other kgrid.write' },
  });
  for (const [scope, status] of [
    ['kgrid.write', 403],
    ['kgrid.write kgrid.other', 200],
  ] as const) {
    const headers = { authorization: `Bearer ${await issuer.token(scope)}` };
    assert.equal((await app.inject({ method: 'POST', url: '/kos', headers })).statusCode, status);
  }
});

test('scopes may stand in scp, as text or as a list', async () => {
  const without = { scope: undefined };
  assert.equal((await writeWith(await issuer.forge({ ...without, scp: ['other', 'kgrid.write'] }))).status, 200);
  assert.equal((await writeWith(await issuer.forge({ ...without, scp: 'other kgrid.write' }))).status, 200);
  for (const scp of [['kgrid.writer'], 'kgrid', { 'kgrid.write': true }, 1, undefined]) {
    assert.equal((await writeWith(await issuer.forge({ ...without, scp }))).status, 403);
  }
});

test('a token of another audience or issuer is refused', async () => {
  assert.deepEqual(await writeWith(await issuer.token('kgrid.write', 'urn:another:service')), refused);
  for (const claims of [
    { aud: 'urn:x' },
    { aud: undefined },
    { iss: 'http://127.0.0.1:1' },
    { iss: undefined },
    { iss: 5 },
  ]) {
    assert.deepEqual(await writeWith(await issuer.forge(claims)), refused, JSON.stringify(claims));
  }
});

test('a token must expire, and clocks may differ by a minute', async () => {
  const statusOf = async (claims: object): Promise<number> =>
    (await writeWith(await issuer.forge({ ...claims }))).status;
  assert.equal(await statusOf({ exp: now() - 50 }), 200);
  assert.equal(await statusOf({ exp: now() - 70 }), 401);
  assert.equal(await statusOf({ exp: undefined }), 401);
  assert.equal(await statusOf({ exp: String(now() + 100) }), 401);
  assert.equal(await statusOf({ nbf: now() + 50 }), 200);
  assert.equal(await statusOf({ nbf: now() + 70 }), 401);
});

test('a token that the issuer did not sign is refused', async () => {
  const claims = { iss: issuer.url, aud: AUDIENCE, sub: 'loader', exp: now() + 100, scope: 'kgrid.write' };
  const kid = String(issuer.publicJwk().kid);
  const [head = '', body = '', signature = ''] = (await issuer.forge()).split('.');
  const { privateKey: otherKey } = await generateKeyPair('RS256');
  const publicPem = createPublicKey({ key: issuer.publicJwk(), format: 'jwk' }).export({ type: 'spki', format: 'pem' });
  const publicText = new TextEncoder().encode(String(publicPem));
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const unsigned = new UnsecuredJWT(claims).encode();
  const forged = {
    'alg none': unsigned,
    'alg none with a signature': unsigned + signature,
    'alg None': `${encode({ alg: 'None', kid })}.${body}.${signature}`,
    'no alg': `${encode({ kid })}.${body}.${signature}`,
    'HS256 with the public key': await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid }).sign(publicText),
    'another key under the same id': await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(otherKey),
    'another key of its own id': await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'x' })
      .sign(otherKey),
    'a key that it brings along': await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', jwk: issuer.publicJwk(), jku: 'http://127.0.0.1:1/', kid })
      .sign(otherKey),
    'changed claims': `${head}.${encode({ ...claims, sub: 'root' })}.${signature}`,
    'cut signature': `${head}.${body}.${signature.slice(0, -4)}`,
    'no signature': `${head}.${body}.`,
    'an algorithm of another kind': `${encode({ alg: 'ES256', kid })}.${body}.${signature}`,
    'an unknown critical header': `${encode({ alg: 'RS256', kid, crit: ['x'], x: 1 })}.${body}.${signature}`,
    'not a JWT': 'opaque',
    'empty parts': '..',
    'claims that are no object': `${head}.${Buffer.from('[]').toString('base64url')}.${signature}`,
    'two tokens': `${head}.${body}.${signature} ${head}.${body}.${signature}`,
  };
  for (const [name, token] of Object.entries(forged)) assert.deepEqual(await writeWith(token), refused, name);
  // The claims as such are good ones.
  assert.equal((await writeWith(await issuer.forge(claims))).status, 200);
});

test('a huge token is refused, and garbage never makes this service ask the issuer', async () => {
  const { app } = createAccessApp({ oauth: { issuer: issuer.url, audience: AUDIENCE } });
  const before = issuer.asked.length;
  const huge = await issuer.forge({ padding: 'x'.repeat(9_000) });
  for (const token of [
    huge,
    'a.b.c',
    'opaque',
    await issuer.forge({ iss: 'http://127.0.0.1:1' }),
    new UnsecuredJWT({ iss: issuer.url }).encode(),
  ]) {
    const answer = await app.inject({ url: '/actuator/info', headers: { authorization: `Bearer ${token}` } });
    assert.equal(answer.statusCode, 401);
  }
  assert.equal(issuer.asked.length, before);
});

test('the keys are fetched once for many tokens', async () => {
  const { app } = createAccessApp({ oauth: { issuer: issuer.url, audience: AUDIENCE } });
  const headers = { authorization: `Bearer ${await issuer.forge()}` };
  const before = issuer.asked.length;
  const answers = await Promise.all(Array.from({ length: 20 }, () => app.inject({ url: '/actuator/info', headers })));
  assert.ok(answers.every(({ statusCode }) => statusCode === 200));
  assert.deepEqual(issuer.asked.slice(before), ['/.well-known/openid-configuration', '/jwks']);
});

test('neither tokens nor their parts reach the log, but the reason of a refusal does', async () => {
  const logging = createAccessApp({ oauth: { issuer: issuer.url, audience: AUDIENCE } });
  const token = await issuer.forge({ aud: 'urn:x' });
  await logging.app.inject({ method: 'POST', url: '/kos', headers: { authorization: `Bearer ${token}` } });
  await logging.app.close();
  const log = logging.lines.join();
  assert.match(log, /"event":"login-refused","reason":"wrong"/);
  assert.match(log, /aud/);
  for (const part of token.split('.')) assert.ok(!log.includes(part));
});
