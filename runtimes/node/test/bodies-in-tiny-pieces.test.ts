import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { TestActivator } from './activator.ts';
import { secret, TestRuntime } from './runtime.ts';

const MEGABYTE = 1024 * 1024;

test('a body that comes byte by byte takes little more memory than its bytes', async () => {
  await using activator = await TestActivator.start();
  await using runtime = await TestRuntime.start(activator);
  const uri = 'pieces/ko/1.0/run';
  await runtime.activate({ uri, files: { 'src/index.js': 'module.exports = (text) => text.length;' } });
  const peak = async (): Promise<number> => {
    const status = await readFile(`/proc/${runtime.child.pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  };
  const before = await peak();
  const { hostname, port } = new URL(runtime.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(
    `POST /${uri} HTTP/1.1\r\nHost: x\r\nX-Kgrid-Runtime-Secret: ${secret}\r\nContent-Type: application/json\r\n` +
      'Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  socket.write(`${JSON.stringify('x'.repeat(MEGABYTE)).replace(/[^]/g, '1\r\n$&\r\n')}0\r\n\r\n`);
  const answer = await text(socket);
  assert.match(answer, /^HTTP\/1\.1 200 /);
  assert.ok(answer.endsWith(`{"result":${MEGABYTE}}`), answer);
  const grown = (await peak()) - before;
  assert.ok(grown < 100 * MEGABYTE, `${Math.round(grown / MEGABYTE)} MB more`);
});
