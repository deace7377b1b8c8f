import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basicOf, createAccessApp, PROTECTED, USER, WITH_BASIC } from '../../../test/access/access-app.ts';
import { Secret } from '../../lib/secret.ts';

const execution = { method: 'POST', url: '/a/b/v1/run' } as const;
const OPEN = [
  { method: 'GET', url: '/kos' },
  { method: 'GET', url: '/kos/a/b/v1' },
  { method: 'GET', url: '/actuator/health' },
  execution,
] as const;

test('in dev nothing needs a login, and everybody counts as dev', async () => {
  const { app } = createAccessApp({ profile: 'dev', secureExecution: true });
  for (const { method, path: url } of PROTECTED) assert.equal((await app.inject({ method, url })).statusCode, 200, url);
  const health = await app.inject('/actuator/health');
  assert.deepEqual(health.json(), { principal: { name: 'dev', kind: 'dev', scopes: [] }, seesDetails: true });
});

test('secured routes are closed without a login, with a wrong one, and when no login is configured', async () => {
  for (const options of [{}, WITH_BASIC]) {
    const service = createAccessApp(options);
    for (const { method, path: url } of PROTECTED) {
      for (const headers of [{}, { authorization: basicOf(USER, 'wrong') }]) {
        const answer = await service.app.inject({ method, url, headers });
        assert.equal(answer.statusCode, 401, `${method} ${url}`);
        assert.match(String(answer.headers['www-authenticate']), /^(Basic|Bearer) realm="kgrid"/);
      }
    }
    assert.equal(service.handled, 0);
  }
});

test('with no login configured the refusal names the settings that make one', async () => {
  const { app } = createAccessApp();
  const { message } = (await app.inject('/actuator/info')).json<{ message: string }>();
  assert.match(message, /none is configured.*--user.*--password.*--oauth-issuer/);
});

test('the challenge lists the ways of login that are configured', async () => {
  const oauth = { issuer: 'http://127.0.0.1:9', audience: 'x' };
  const challenges = await Promise.all(
    [WITH_BASIC, { oauth }, { ...WITH_BASIC, oauth }].map(
      async (options) => (await createAccessApp(options).app.inject('/actuator/info')).headers['www-authenticate'],
    ),
  );
  assert.deepEqual(challenges, [
    'Basic realm="kgrid", charset="UTF-8"',
    'Bearer realm="kgrid"',
    'Basic realm="kgrid", charset="UTF-8", Bearer realm="kgrid"',
  ]);
});

test('open routes, execution and health answer without a login, and wrong credentials count as none', async () => {
  const { app } = createAccessApp(WITH_BASIC);
  for (const headers of [{}, { authorization: basicOf(USER, 'wrong') }, { authorization: 'Bearer a.b.c' }]) {
    for (const request of OPEN) {
      const answer = await app.inject({ ...request, headers });
      assert.equal(answer.statusCode, 200, request.url);
      assert.equal(answer.json<{ seesDetails: boolean }>().seesDetails, false);
    }
  }
});

test('health knows a caller who logged in', async () => {
  const { app } = createAccessApp(WITH_BASIC);
  const health = await app.inject({ url: '/actuator/health', headers: { authorization: basicOf() } });
  assert.deepEqual(health.json(), { principal: { name: USER, kind: 'basic', scopes: [] }, seesDetails: true });
});

test('secureExecution closes execution and nothing else', async () => {
  const { app } = createAccessApp({ ...WITH_BASIC, secureExecution: true });
  assert.equal((await app.inject(execution)).statusCode, 401);
  assert.equal((await app.inject({ ...execution, headers: { authorization: basicOf() } })).statusCode, 200);
  for (const request of OPEN.filter((open) => open !== execution)) {
    assert.equal((await app.inject(request)).statusCode, 200, request.url);
  }
});

test('settings with which no login can work stop the start', () => {
  const withBasic = (user: string, password: string) => () =>
    createAccessApp({ basic: { user, password: new Secret(password) } });
  assert.throws(withBasic('curator', ''), /--password/);
  assert.throws(withBasic('', 'x'), /--user/);
  assert.throws(withBasic('a:b', 'x'), /--user/);
  for (const issuer of ['http://login.example.org', 'not a url', 'ftp://127.0.0.1', 'http://127.0.0.1.example.org']) {
    assert.throws(
      () => createAccessApp({ oauth: { issuer, audience: 'x' } }),
      /--oauth-issuer .* must be an https address/,
    );
  }
});
