import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { pino } from 'pino';
import { Requests } from '../metrics/measured.ts';
import { type FastPath, installFastPaths } from './fast-path.ts';
import { RequestGate } from './request-gate.ts';

const lines: string[] = [];
const log = pino({}, { write: (line: string) => void lines.push(line) });
const gate = new RequestGate({ requests: new Requests(['GET']), log });

/** What fails while a request is answered, by its path. */
const FAULTS: Readonly<Record<string, FastPath>> = {
  '/thrown': () => {
    throw new Error('of a fast path');
  },
  '/nothing-thrown': () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw undefined as unknown as Error;
  },
  '/after-the-head': (_request, response) => {
    response.writeHead(200, { 'content-length': '9' });
    throw new Error('after the head');
  },
  '/in-the-error-handler': (request, response) => {
    const entered = { id: gate.enter(request), start: 0, series: gate.seriesOf(undefined, 'GET') };
    response.writeHead(200, { 'content-length': '9' }).write('begun');
    // As from the rejection of a promise, where nobody catches it.
    setImmediate(() => gate.refuse(request, response, entered, new Error('of a call')));
  },
  '/in-a-header': (request, response) => {
    const entered = { id: gate.enter(request), start: 0, series: gate.seriesOf(undefined, 'GET') };
    setImmediate(() => gate.refuse(request, response, entered, new Error('of a call'), { 'x-odd': 'line\nbreak' }));
  },
};

test('what a fast path throws, and what its error handler throws, ends that request alone', async () => {
  const server = createServer((_request, response) => response.end('of the router'));
  const path: FastPath = (request, response, next) => (FAULTS[request.url ?? ''] ?? next)(request, response, next);
  installFastPaths(server, [path], (thrown, request, response) => gate.fail(request, response, thrown));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ask = (url: string): Promise<number | string> =>
    new Promise((resolve) => {
      const request = send({ port, path: url, agent: false }, (answer) => {
        answer.resume();
        answer.on('close', () => resolve(answer.complete ? (answer.statusCode ?? 0) : 'broke off'));
      });
      request.on('error', () => resolve('broke off'));
      request.end();
    });
  const expected = { '/thrown': 500, '/nothing-thrown': 500 };
  for (const url of Object.keys(FAULTS)) {
    assert.equal(await ask(url), (expected as Record<string, number>)[url] ?? 'broke off', url);
    assert.equal(await ask('/other'), 200);
  }
  server.close();
  const told = lines.map((line) => JSON.parse(line) as { level: number; requestId: string });
  assert.ok(told.length >= Object.keys(FAULTS).length);
  assert.ok(told.every(({ level, requestId }) => level === 50 && requestId !== ''));
});
