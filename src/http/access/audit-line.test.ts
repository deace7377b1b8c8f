import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import pino from 'pino';
import { basicOf, createAccessApp, PROTECTED, USER, WITH_BASIC } from '../../../test/access/access-app.ts';
import { rawRequest } from '../../../test/access/raw-request.ts';
import { preconditionFailed } from '../../lib/errors.ts';
import { audit } from './audit.ts';

const authorization = basicOf();
const CHANGES = PROTECTED.filter(({ path }) => path !== '/actuator/info');

test('a change leaves the line that its handler writes, with who and where from', async () => {
  const { app, audits } = createAccessApp(WITH_BASIC);
  app.post('/import', { config: { access: 'shelf-write' } }, (request) => {
    audit(request, { action: 'import', subject: 'a/b/v1', digest: 'abc', outcome: 'done' });
    return 'done';
  });
  await app.inject({
    method: 'POST',
    url: '/import',
    headers: { authorization, 'request-id': 'r' },
    remoteAddress: '192.0.2.7',
  });
  const [line, ...more] = audits();
  assert.deepEqual(more, []);
  const { time, pid, hostname, level, requestId, ...said } = line ?? {};
  assert.ok(time && pid && hostname && level && requestId);
  assert.deepEqual(said, {
    audit: true,
    who: USER,
    login: 'basic',
    action: 'import',
    subject: 'a/b/v1',
    digest: 'abc',
    outcome: 'done',
    remoteAddress: '192.0.2.7',
    msg: 'audit',
  });
});

test('a change whose handler says nothing, or fails, leaves one line all the same', async () => {
  const { app, audits } = createAccessApp(WITH_BASIC);
  app.put('/failing', { config: { access: 'shelf-write' } }, () => {
    throw preconditionFailed('changed meanwhile');
  });
  for (const { method, path: url } of CHANGES) await app.inject({ method, url, headers: { authorization } });
  await app.inject({ method: 'PUT', url: '/failing', headers: { authorization } });
  assert.deepEqual(
    audits().map(({ subject, outcome, who }) => [subject, outcome, who]),
    [...CHANGES.map(({ method, path }) => [`${method} ${path}`, 'done', USER]), ['PUT /failing', 'failed', USER]],
  );
});

test('refused changes leave one line for each reason, whether the login or the site was wrong', async () => {
  const { app, audits } = createAccessApp(WITH_BASIC);
  const evil = { authorization: basicOf(USER, 'x'), origin: 'https://evil.example' };
  for (const headers of [{}, { authorization: basicOf(USER, 'x') }, evil])
    for (const { method, path: url } of CHANGES) await app.inject({ method, url, headers });
  await app.close();
  assert.deepEqual(
    audits().map(({ subject, outcome, who, reason, times }) => [subject, outcome, who, reason, times]),
    ['missing', 'wrong', 'cross-site'].map((why) => ['POST /kos', 'refused', 'anonymous', why, CHANGES.length]),
  );
});

test('a refused caller who hangs up at once leaves the line too', async () => {
  const { app, audits } = createAccessApp(WITH_BASIC);
  app.server.prependListener('request', (request: IncomingMessage) => request.socket.destroy());
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  assert.equal((await rawRequest(port, { method: 'DELETE', target: '/kos/a/b/v1' })).status, 0);
  await app.close();
  assert.deepEqual(
    audits().map(({ outcome }) => outcome),
    ['refused'],
  );
});

test('of a URL in absolute form only the path is written, since a password may stand before it', async () => {
  const { app, audits } = createAccessApp(WITH_BASIC);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  await rawRequest(port, { method: 'DELETE', target: 'http://curator:typed@host/kos/a/b/v1?x=1' });
  await app.close();
  assert.deepEqual(
    audits().map(({ subject }) => subject),
    ['DELETE /kos/a/b/v1'],
  );
});

test('reads, executions and preflights leave none', async () => {
  const { app, audits } = createAccessApp(WITH_BASIC);
  await app.inject('/kos');
  await app.inject('/actuator/info');
  await app.inject({ method: 'POST', url: '/a/b/v1/run' });
  await app.inject({ method: 'OPTIONS', url: '/kos' });
  assert.deepEqual(audits(), []);
});

test('audit lines are written also where the log shows only warnings, but not where it is silent', async () => {
  for (const [level, count] of [
    ['warn', 1],
    ['silent', 0],
  ] as const) {
    const lines: string[] = [];
    const log = pino({ level }, { write: (line: string) => lines.push(line) });
    await createAccessApp({ profile: 'dev', log }).app.inject({ method: 'POST', url: '/kos' });
    assert.equal(lines.length, count, level);
  }
});
