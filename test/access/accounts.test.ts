/** Users, keys, and the files that runtimes are given where the shelf is closed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';

const service = await startService({
  profile: 'secure',
  args: ['--anonymous', 'none'],
  env: { KGRID_USER: 'root', KGRID_PASSWORD: 'long enough' },
  credentials: 'root:long enough',
});
after(() => service[Symbol.asyncDispose]());

const basicOf = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

async function readWith(authorization: string): Promise<number> {
  const response = await fetch(`${service.url}/kos`, { headers: { authorization } });
  await response.text();
  return response.status;
}

test('a user logs in with the password that was made, until it is another or the user is gone', async () => {
  const added = await service.post('/actuator/users', { name: 'ann', grants: ['reader'] });
  assert.equal(added.status, 201, added.text);
  const { password } = added.json as { password: string };
  assert.equal(await readWith(basicOf('ann', password)), 200);
  assert.equal(await readWith(basicOf('ann', `${password}x`)), 401);
  assert.equal((await service.post('/actuator/users', { name: 'ann', grants: ['reader'] })).status, 409);
  assert.equal((await service.put('/actuator/users/ann/password', { password: 'another one' })).status, 200);
  assert.equal(await readWith(basicOf('ann', password)), 401);
  assert.equal(await readWith(basicOf('ann', 'another one')), 200);
  assert.equal((await service.delete('/actuator/users/ann')).status, 204);
  assert.equal(await readWith(basicOf('ann', 'another one')), 401);
});

test('what is no grant, name or time is refused', async () => {
  for (const body of [
    { name: 'x', grants: ['root'] },
    { name: 'x', grants: [] },
    { name: 'a:b', grants: ['reader'] },
    { name: 'x', grants: ['reader'], password: 'short' },
    { name: 'x', grants: ['reader'], more: 1 },
  ])
    assert.equal((await service.post('/actuator/users', body)).status, 400, JSON.stringify(body));
  assert.equal((await service.post('/actuator/users', { name: 'root', grants: ['reader'] })).status, 409);
  for (const body of [{ grants: ['metrics@a'] }, { grants: ['reader'], expires: '2001-01-01T00:00:00Z' }])
    assert.equal((await service.post('/actuator/keys', body)).status, 400, JSON.stringify(body));
});

test('a key is a Bearer token and a Basic password, is shown once, and audited by its prefix', async () => {
  const { key } = (await service.post('/actuator/keys', { grants: ['reader'] })).json as { key: string };
  const [, prefix = ''] = key.split('_');
  assert.equal(await readWith(`Bearer ${key}`), 200);
  assert.equal(await readWith(basicOf('any', key)), 200);
  assert.equal(await readWith(`Bearer ${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`), 401);
  const { text: listed } = await service.get('/actuator/keys');
  const { text: audited } = await service.get('/actuator/audit');
  for (const shown of [listed, audited]) assert.ok(shown.includes(`kgk_${prefix}`) && !shown.includes(key));
  await service.delete(`/actuator/keys/kgk_${prefix}`);
  assert.equal(await readWith(`Bearer ${key}`), 401);
});

test('files for external runtimes carry a proof in their address, which opens nothing else', async () => {
  const given = Promise.withResolvers<string>();
  const runtime = createServer((request, response) => {
    void text(request).then((body) => {
      const { baseUrl, uri } = (request.url === '/endpoints' ? JSON.parse(body) : {}) as Record<string, string>;
      if (baseUrl !== undefined) given.resolve(baseUrl);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ uri, engine: 'python', status: 'up', activated: 'now', id: uri }));
    });
  });
  await once(runtime.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(runtime.address() as AddressInfo).port}`;
  await service.post('/proxy/environments', { engine: 'python', url, version: '1', forceUpdate: true });
  const ko = welcomeKo({ naan: uniqueNaan() });
  const deployment = String(ko.files['deployment.yaml']).replaceAll('javascript', 'python');
  await service.add({ ...ko, files: { ...ko.files, 'deployment.yaml': deployment } });
  await service.get('/actuator/reload');
  const base = await given.promise;
  const statusOf = async (address: string): Promise<number> => (await fetch(`${address}metadata.json`)).status;
  assert.equal(await statusOf(base), 200);
  assert.equal(await statusOf(base.replace(/\/proxy\/files\/[^/]+/, '')), 401);
  assert.equal(await statusOf(base.replace(/files\/./, 'files/_')), 404);
  assert.equal(await statusOf(base.replace(ko.naan, 'other')), 404);
  runtime.closeAllConnections();
  runtime.close();
});
