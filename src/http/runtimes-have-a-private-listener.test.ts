import assert from 'node:assert/strict';
import Fastify from 'fastify';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { openPrivateListener } from './private-listener.ts';

test('runtimes reach the service through their private listener, also when it takes no connections any more; nobody else does', async () => {
  let hasReceived: (request: IncomingMessage) => boolean = () => false;
  await using app = Fastify().get('/who', (request) =>
    hasReceived(request.raw) ? `private ${String(request.headers['x-name'])}` : request.headers['x-name'],
  );
  const main = `${await app.listen({ host: '127.0.0.1', port: 0 })}/who`;
  const ask = (url: string, name: string): Promise<Response> =>
    fetch(url, { headers: { 'x-name': name, connection: 'close' } });
  let url;
  {
    await using listener = await openPrivateListener(app, ({ headers }) => headers['x-name'] === 'runtime');
    url = `${listener.url}/who`;
    hasReceived = (request) => listener.hasReceived(request);
    assert.equal(await (await ask(main, 'client')).text(), 'client');
    assert.equal(
      await (await ask(main, 'runtime')).text(),
      'runtime',
      'what proves it counts at the private listener only',
    );
    app.server.close();
    await once(app.server, 'close');
    await assert.rejects(ask(main, 'client'));
    assert.equal(await (await ask(url, 'runtime')).text(), 'private runtime');
    assert.equal((await ask(url, 'client')).status, 403);
  }
  await assert.rejects(ask(url, 'runtime'));
});
