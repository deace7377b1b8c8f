import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import fastify from 'fastify';
import { withoutSilenceLimit } from './long-work.ts';

test('a connection has no limit of silence while the service works on its answer, and has it again for the answer', async () => {
  const app = fastify({ connectionTimeout: 120_000 });
  const limits: (number | undefined)[] = [];
  for (const fails of [false, true]) {
    app.get(`/${String(fails)}`, async (request) => {
      const { socket } = request.raw;
      limits.push(socket.timeout);
      const work = withoutSilenceLimit(request, () => {
        limits.push(socket.timeout);
        return fails ? Promise.reject(new Error('it fails')) : Promise.resolve();
      });
      await work.catch(() => undefined);
      limits.push(socket.timeout);
      return 'done';
    });
  }
  await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    const { port } = app.server.address() as AddressInfo;
    for (const fails of [false, true]) await (await fetch(`http://127.0.0.1:${port}/${String(fails)}`)).text();
  } finally {
    await app.close();
  }
  assert.deepEqual(limits, [120_000, 0, 120_000, 120_000, 0, 120_000]);
});
