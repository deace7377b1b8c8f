import assert from 'node:assert/strict';
import Fastify from 'fastify';
import type { FastifyRequest, LightMyRequestResponse } from 'fastify';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { Bodies, installBodyParser } from './body.ts';
import { sendError } from './errors.ts';
import { HeldBytes } from '../execution/held-bytes.ts';

function serving(handler: (request: FastifyRequest) => unknown, limits = { bytes: 100, time: 10_000 }, held = 1e9) {
  const app = Fastify();
  app.setErrorHandler((error, request, reply) => sendError(request, reply, error));
  installBodyParser(app, new Bodies(limits, new HeldBytes(held)));
  app.post('/', (request) => handler(request));
  return app;
}

test('a body of any type arrives as its bytes, whether its length is told or not', async () => {
  await using app = serving((request) => {
    assert.ok(Buffer.isBuffer(request.body));
    return request.body.toString('hex');
  });
  const bytes = Buffer.from([0, 255, 10, 195]);
  for (const type of ['application/json', 'text/csv', 'application/octet-stream', 'image/png']) {
    const whole = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload: bytes });
    assert.equal(whole.body, '00ff0ac3', type);
    const chunks = Readable.from([bytes.subarray(0, 1), bytes.subarray(1)]);
    const chunked = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload: chunks });
    assert.equal(chunked.body, '00ff0ac3', type);
  }
});

test('a body that does not arrive in time is 408, one that breaks off ends its request', async () => {
  let called = 0;
  await using app = serving(() => ++called, { bytes: 100, time: 100 });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nhalf';
  const slow = connect(port, '127.0.0.1');
  slow.write(head);
  const answer = await text(slow);
  assert.match(answer, /^HTTP\/1\.1 408 /);
  assert.match(answer, /The body did not arrive within 0\.1 s \(--request-timeout\)/);
  const broken = connect(port, '127.0.0.1');
  broken.write(head);
  await once(broken, 'connect');
  broken.destroy();
  const next = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': 'text/plain' }, payload: 'x' });
  assert.equal(next.statusCode, 200);
  assert.equal(called, 1);
});

test('a body that has come while the service stood still is in time', async () => {
  await using app = serving((request) => String(request.body), { bytes: 100, time: 700 });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 10';
  client.write(`${head}\r\n\r\nhalf, `);
  await once(app.server, 'request');
  await nextTurn();
  client.write('rest');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
  const answer = await text(client);
  assert.match(answer, /^HTTP\/1\.1 200 [^]*half, rest/);
});

test('large bodies find room or are 503, small ones find what these leave, and room is given back', async () => {
  const large = 80 * 1024;
  await using app = serving(
    (request) => String((request.body as Buffer).length),
    { bytes: 1e6, time: 1e4 },
    120 * 1024,
  );
  const send = (payload: Buffer | Readable) =>
    app.inject({ method: 'POST', url: '/', headers: { 'content-type': 'text/plain' }, payload });
  const gate = Promise.withResolvers<void>();
  const held = send(
    Readable.from(
      (async function* () {
        yield Buffer.alloc(large);
        await gate.promise;
        yield Buffer.alloc(1);
      })(),
    ),
  );
  let refused: LightMyRequestResponse;
  // Its first chunk is on its way, but nobody tells when it has come.
  do refused = await send(Buffer.alloc(large));
  while (refused.statusCode === 200);
  assert.equal(refused.statusCode, 503);
  assert.equal(refused.headers['retry-after'], '5');
  assert.equal((await send(Buffer.alloc(1000))).statusCode, 200, 'a small one');
  gate.resolve();
  assert.equal((await held).body, String(large + 1));
  assert.equal((await send(Buffer.alloc(large))).statusCode, 200);
});
