/** The limit for silent connections is none for the work of the service. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { closeSilentConnections } from './create-fastify.ts';

/** Longer than a request takes to come whole on a busy machine. */
const SILENT_MS = 1000;

async function withServer(use: (server: Server, port: number) => Promise<void>): Promise<void> {
  const server = createServer();
  closeSilentConnections(server, SILENT_MS);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    await use(server, (server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const send = (port: number): Socket => connect(port, '127.0.0.1').end('GET / HTTP/1.1\r\nhost: a\r\n\r\n');

test('a caller waits for its answer beyond the limit, also in the midst of it', () =>
  withServer(async (server, port) => {
    const requested = once(server, 'request') as Promise<[unknown, ServerResponse]>;
    const answered = fetch(`http://127.0.0.1:${port}/`);
    const [, response] = await requested;
    await once(server, 'timeout');
    response.write('half');
    await once(server, 'timeout');
    response.end(' and half');
    assert.equal(await (await answered).text(), 'half and half');
  }));

test('a connection is closed on which nothing came, and one whose answer is not read', () =>
  withServer(async (server, port) => {
    await once(connect(port, '127.0.0.1'), 'close');
    server.on('request', (_request, response) => response.end(Buffer.alloc(64 * 2 ** 20)));
    const connected = once(server, 'connection') as Promise<[Socket]>;
    send(port).pause();
    const [socket] = await connected;
    if (!socket.destroyed) await once(socket, 'close');
    assert.ok(socket.destroyed);
  }));
