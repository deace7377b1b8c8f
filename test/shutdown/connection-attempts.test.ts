/** Whatever the service connects to when it stops: an attempt that nobody answers is broken off. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { HttpClient } from '../../src/shelf/manifest/http-client.ts';
import { PostgresDatabase } from '../../src/shelf/store/postgres/postgres-database.ts';

const BROKEN_OFF = /The service stops|the server said nothing for 0.5 s while connecting/;
/** Far beyond what any of them waits for a connection. */
const LONG_MS = 600_000;

/** Accepts connections, and says nothing: who wants TLS or a login waits. */
async function silentServer(): Promise<AsyncDisposable & { host: string; accepted: () => Promise<unknown> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    accepted: () => once(server, 'connection'),
    async [Symbol.asyncDispose]() {
      for (const each of sockets) each.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

type Attempt = (host: string, stopped: AbortSignal) => Promise<unknown>;

const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  async 'a manifest'(host, stopped) {
    await using client = new HttpClient({ privateAddresses: true, redirects: 0, stopped });
    await client.get(new URL(`https://${host}/`), '*/*', AbortSignal.timeout(LONG_MS));
  },
  async 'the database'(host, stopped) {
    const location = `postgres://kgrid@${host}/kgrid?sslmode=disable&connect_timeout=60`;
    await using database = new PostgresDatabase(location, { fleet: 'kgrid', stopped });
    await database.query('SELECT 1');
  },
};

const isBrokenOff = (thrown: unknown): boolean =>
  thrown instanceof Error && (BROKEN_OFF.test(thrown.message) || isBrokenOff(thrown.cause));

for (const [name, attempt] of Object.entries(ATTEMPTS)) {
  test(`a stop breaks off the connection for ${name}`, async () => {
    await using server = await silentServer();
    const stop = new AbortController();
    const accepted = server.accepted();
    const failed = assert.rejects(attempt(server.host, stop.signal), isBrokenOff);
    await Promise.race([accepted, failed]);
    stop.abort();
    await failed;
  });
  test(`one for ${name} that begins after the stop has begun is broken off too`, async () => {
    await using server = await silentServer();
    await assert.rejects(attempt(server.host, AbortSignal.abort()), isBrokenOff);
  });
}
