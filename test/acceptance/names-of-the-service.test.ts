/** Under which names the service can be asked to change something, and that a request says one name only. */
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, test } from 'node:test';
import { exchange, jsonBody, upload } from './support/client.ts';
import type { Sent } from './support/client.ts';
import { assertShelfError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, welcomeKo, zipOf } from './support/ko.ts';
import { startService } from './support/service.ts';

const naan = uniqueNaan();
const args = ['--host', '0.0.0.0', '--allow-host', 'activator:8080', '--cors', 'https://app.example.org'];
const service = await startService({ args });
after(() => service[Symbol.asyncDispose]());
const ko = javascriptKo('function run(n) { return n; }', { naan, name: 'ko' });
await service.serve(ko);

test('in dev on every address, a page of a name that leads here deletes and activates nothing', async () => {
  const rebound = { host: 'evil.example:8080', origin: 'http://evil.example:8080', 'sec-fetch-site': 'same-origin' };
  const refused = await service.send('DELETE', `/kos/${ko.id}`, { headers: rebound });
  assertShelfError(refused, { status: 403, path: `/kos/${ko.id}`, error: /"evil\.example:8080" .* --allow-host/ });
  const form = upload(await zipOf(welcomeKo({ naan }).files));
  assert.equal((await service.send('POST', '/kos', { ...form, headers: { ...form.headers, ...rebound } })).status, 403);
  for (const path of ['/actuator/activation/reload', '/actuator/refresh'])
    assert.equal((await service.get(path, { host: 'evil.example:8080' })).status, 403);
  assert.equal((await service.get(`/kos/${ko.id}`)).status, 200);
});

test('its own names activate, and programs change under any', async () => {
  const names = [
    '127.0.0.1',
    '192.0.2.1:80',
    '[::1]:1',
    'localhost:1',
    hostname(),
    'activator:8080',
    'app.example.org',
  ];
  for (const host of names)
    assert.equal(
      (await service.get('/actuator/refresh/nobody', { host, 'sec-fetch-site': 'same-origin' })).status,
      303,
      host,
    );
  const headers = { host: 'any.example' };
  assert.equal((await service.send('DELETE', `/kos/${naan}/nobody/v1`, { headers })).status, 404);
});

test('a request that names no host, two, or different ones is 400, on every way', async () => {
  const body = '1';
  const rest = ['Content-Type: application/json', 'Content-Length: 1', 'Connection: close'];
  const ways: [string, string][] = [
    ['POST', pathOf(ko)],
    ['POST', `/${naan}/ko/run`],
    ['GET', `/kos/${ko.id}`],
    ['GET', '/endpoints'],
    ['DELETE', `/kos/${ko.id}`],
  ];
  for (const [method, path] of ways) {
    const send = (target: string, ...hosts: string[]): Promise<string> =>
      exchange(service.url, `${[`${method} ${target} HTTP/1.1`, ...hosts, ...rest].join('\r\n')}\r\n\r\n${body}`);
    for (const answer of [
      await send(path),
      await send(path, 'Host: localhost', 'Host: localhost'),
      await send(path, 'host: localhost', 'HOST: evil.example'),
      await send(`http://evil.example${path}`, 'Host: localhost'),
    ]) {
      assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/, `${method} ${path}`);
      assert.match(answer, path.startsWith('/kos') ? /"Error":"The .*Host header/ : /"Detail":"The .*Host header/);
    }
  }
  const absolute = `GET http://LOCALHOST:80/endpoints HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  assert.match(await exchange(service.url, absolute), /^HTTP\/1\.1 200 /);
  assert.match(await exchange(service.url, 'GET /endpoints HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /);
  const sent: Sent = jsonBody(1);
  assert.equal((await service.send('POST', pathOf(ko), sent)).status, 200);
});
