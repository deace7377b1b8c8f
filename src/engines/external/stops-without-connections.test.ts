import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { RuntimeConnections } from './runtime-connections.ts';

/** Listens, and then does nothing for ever: the kernel answers two connections for it, and no third. */
const DEAF = `
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    require('node:fs').writeSync(1, server.address().port + '\\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;
const deaf = spawn(process.execPath, ['-e', DEAF], { stdio: ['ignore', 'pipe', 'inherit'] });
after(() => deaf.kill('SIGKILL'));
const [port] = (await once(createInterface({ input: deaf.stdout }), 'line')) as [string];
for (let i = 0; i < 2; i++) {
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  after(() => socket.destroy());
}

const OPTIONS = { method: 'GET', timeout: 60_000, limit: 1000 } as const;
const URL = `http://127.0.0.1:${port}/info`;
const SAYS = { message: 'the cobol runtime was not connected before the service stopped' };

for (const [how, ask] of [
  ['that is kept', (connections: RuntimeConnections) => connections.request(URL, OPTIONS)],
  ['of its own', (connections: RuntimeConnections) => connections.requestApart(URL, OPTIONS)],
] as const)
  test(`a stop ends the wait for a connection ${how}, and none is begun after it`, async () => {
    const stop = new AbortController();
    const ignored = (): void => undefined;
    const connections = new RuntimeConnections('cobol', {
      stopped: stop.signal,
      onAnswer: ignored,
      onDisconnect: ignored,
    });
    after(() => connections.close());
    const failed = assert.rejects(ask(connections), SAYS);
    await import('undici');
    // The kernel has been asked for the connection by then.
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    await failed;
    await assert.rejects(ask(connections), SAYS);
  });
