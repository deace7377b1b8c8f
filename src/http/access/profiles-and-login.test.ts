import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAccessApp, WITH_BASIC } from '../../../test/access/access-app.ts';
import { Secret } from '../../lib/secret.ts';

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
