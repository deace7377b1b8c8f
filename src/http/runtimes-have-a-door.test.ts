import assert from 'node:assert/strict';
import Fastify from 'fastify';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { openRuntimeDoor } from './runtime-door.ts';

test('runtimes reach the service through their door, also when it takes no connections any more; nobody else does', async () => {
  let letIn: (request: IncomingMessage) => boolean = () => false;
  await using app = Fastify().get('/who', (request) =>
    letIn(request.raw) ? `door ${String(request.headers['x-name'])}` : request.headers['x-name'],
  );
  const main = `${await app.listen({ host: '127.0.0.1', port: 0 })}/who`;
  const ask = (url: string, name: string): Promise<Response> =>
    fetch(url, { headers: { 'x-name': name, connection: 'close' } });
  let url;
  {
    await using door = await openRuntimeDoor(app, ({ headers }) => headers['x-name'] === 'runtime');
    url = `${door.url}/who`;
    letIn = (request) => door.letIn(request);
    assert.equal(await (await ask(main, 'client')).text(), 'client');
    assert.equal(await (await ask(main, 'runtime')).text(), 'runtime', 'what proves it counts at the door only');
    app.server.close();
    await once(app.server, 'close');
    await assert.rejects(ask(main, 'client'));
    assert.equal(await (await ask(url, 'runtime')).text(), 'door runtime');
    assert.equal((await ask(url, 'client')).status, 403);
  }
  await assert.rejects(ask(url, 'runtime'));
});
