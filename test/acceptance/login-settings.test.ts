import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { upload } from './support/client.ts';
import { checkedSender } from './support/interface-check.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { resourceKo, uniqueNaan, welcomeKo, zipOf } from './support/ko.ts';
import { servePlaces } from './support/places.ts';
import { startService, temporaryFolder } from './support/service.ts';
import { until } from '../runtimes/support/until.ts';

test('with nothing configured secured operations are closed', async () => {
  await using service = await startService({ profile: 'secure' });
  for (const send of [service.send, checkedSender(service.url, 'user:password'), checkedSender(service.url, ':')]) {
    const answer = await send('GET', '/actuator/activation/reload');
    assert.equal(answer.status, 401);
    assert.ok(answer.headers['www-authenticate'] !== undefined);
    assert.equal(
      (await send('POST', '/kos', upload(await zipOf(welcomeKo({ naan: uniqueNaan() }).files)))).status,
      401,
    );
    assert.equal((await send('GET', '/actuator/info')).status, 401);
    assert.deepEqual((await send('GET', '/actuator/health')).json, { status: 'UP' });
    assert.equal((await send('GET', '/kos')).status, 200);
  }
});

test('dev needs no login, also where one is configured (S-AUTH-DEV)', async () => {
  await using service = await startService({ profile: 'dev', env: { KGRID_USER: 'u', KGRID_PASSWORD: 'p' } });
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  assert.ok('components' in (await service.get('/actuator/health')).object);
  assert.equal((await service.get('/actuator/info')).status, 200);
  assert.equal((await service.delete(`/kos/${ko.id}`)).status, 204);
});

test('--secure-execution closes execution too', async () => {
  await using service = await startService({
    profile: 'secure',
    args: ['--secure-execution'],
    env: { KGRID_USER: 'u', KGRID_PASSWORD: 'p' },
    credentials: 'u:p',
  });
  const ko = welcomeKo({ naan: uniqueNaan() });
  const files = resourceKo({ naan: ko.naan, name: 'files', resources: { 'a.txt': 'a' } });
  await service.serve(ko, files);
  const anonymous = checkedSender(service.url);
  const sent = { body: '{"name":"Ada"}', headers: { 'content-type': 'application/json' } };
  for (const path of [pathOf(ko, 'welcome'), `/${ko.naan}/ko/welcome`]) {
    assert.equal((await anonymous('POST', path, sent)).status, 401);
    assert.equal((await service.send('POST', path, sent)).status, 200);
  }
  assert.equal((await anonymous('GET', pathOf(files, 'files'))).status, 401);
  assert.equal((await anonymous('GET', '/endpoints')).status, 200);
});

test('outside dev manifests need leave for files and private addresses', async () => {
  await using folder = await temporaryFolder();
  await using other = await temporaryFolder();
  const ko = welcomeKo({ naan: uniqueNaan() });
  const zip = await zipOf(ko.files);
  for (const place of [folder, other]) await writeFile(join(place.path, 'ko.zip'), zip);
  await using web = await servePlaces({ '/ko.zip': zip });
  await using service = await startService({
    profile: 'secure',
    args: ['--allow-file-manifests', folder.path, '--allow-private-manifests'],
    env: { KGRID_USER: 'u', KGRID_PASSWORD: 'p' },
    credentials: 'u:p',
  });
  const load = async (entry: string): Promise<number> => (await service.post('/kos/manifest', [entry])).status;
  assert.equal(await load(`file://${folder.path}/ko.zip`), 200);
  assert.equal(await load(`file://${other.path}/ko.zip`), 400);
  assert.equal(await load(`file://${folder.path}/../${other.path.split('/').at(-1) ?? ''}/ko.zip`), 400);
  assert.equal(await load(`${web.url}/ko.zip`), 200);
  assert.equal(await load('http://169.254.169.254/ko.zip'), 400);
});

test('OAuth 2.0 bearer tokens are a login, and a writer needs the scope', async () => {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const foreign = await generateKeyPair('RS256');
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }] });
  const discovery = { issuer: '', jwks_uri: '' };
  const tell = (_: unknown, response: { end: (text: string) => unknown }): void =>
    void response.end(JSON.stringify(discovery));
  await using issuer = await servePlaces({
    '/.well-known/openid-configuration': tell,
    '/.well-known/oauth-authorization-server': tell,
    '/jwks': keys,
  });
  Object.assign(discovery, { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` });
  await using service = await startService({
    profile: 'secure',
    args: ['--oauth-issuer', issuer.url, '--oauth-audience', 'kgrid', '--oauth-scope', 'kgrid:write'],
  });
  const token = (
    claims: { scope?: string; iss?: string; aud?: string; exp?: number },
    key = privateKey,
  ): Promise<string> =>
    new SignJWT({ scope: claims.scope ?? 'openid kgrid:write' })
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .setSubject('ada')
      .setIssuer(claims.iss ?? issuer.url)
      .setAudience(claims.aud ?? 'kgrid')
      .setIssuedAt()
      .setExpirationTime(claims.exp ?? Math.floor(Date.now() / 1000) + 600)
      .sign(key);
  const ko = welcomeKo({ naan: uniqueNaan() });
  const sent = upload(await zipOf(ko.files));
  const importAs = async (text: string) =>
    service.send('POST', '/kos', { ...sent, headers: { ...sent.headers, authorization: `Bearer ${text}` } });

  const bad = {
    'another issuer': await token({ iss: 'http://127.0.0.1:1' }),
    'another audience': await token({ aud: 'other' }),
    expired: await token({ exp: 1000 }),
    'another key': await token({}, foreign.privateKey),
    'no signature': `${(await token({})).split('.').slice(0, 2).join('.')}.`,
    nonsense: 'nonsense',
  };
  for (const [name, text] of Object.entries(bad)) {
    const answer = await importAs(text);
    assert.equal(answer.status, 401, name);
    assert.match(String(answer.headers['www-authenticate']), /^Bearer/);
  }
  const reader = await token({ scope: 'openid' });
  assert.equal((await importAs(reader)).status, 403);
  const authorization = `Bearer ${reader}`;
  assert.ok('components' in (await service.get('/actuator/health', { authorization })).object);
  assert.equal((await importAs(await token({}))).status, 200);
});

test('a password in a file is read again when it changes, and the one before counts no longer', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'password');
  await writeFile(file, 'first\n');
  await using service = await startService({ profile: 'secure', args: ['--user', 'ann', '--password-file', file] });
  const statusOf = async (password: string): Promise<number> =>
    (await checkedSender(service.url, `ann:${password}`)('GET', '/actuator/info')).status;
  assert.deepEqual([await statusOf('first'), await statusOf('second')], [200, 401]);
  await writeFile(file, 'second\n');
  await until('the new password counts', async () => ((await statusOf('second')) === 200 ? true : undefined));
  // What was verified counts for up to 5 s.
  await until('the old password counts no longer', async () => ((await statusOf('first')) === 401 ? true : undefined));
  await writeFile(file, '');
  await until('the service says so', async () => {
    assert.equal(await statusOf('second'), 200, 'the last one counts');
    return service.log.find(({ event }) => event === 'password-not-read');
  });
});
