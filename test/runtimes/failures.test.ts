import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { assertRequestError } from '../acceptance/support/expectations.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { promised } from '../support/promised.ts';
import { tryAgain } from '../support/try-again.ts';
import { RecordedNodeRuntime } from './support/recorded-node-runtime.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { until } from './support/until.ts';

/** Milliseconds; much more than a call takes that is answered at once, also on a busy machine. */
const LIMIT = 5000;
const RESULT_LIMIT = 64 * 1024;
const naan = uniqueNaan();
const service = await startService({ args: ['--runtime-timeout', `${LIMIT}ms`, '--max-result', `${RESULT_LIMIT}`] });
after(() => service[Symbol.asyncDispose]());

const koOf = (engine: string): Ko => runtimeKo({ naan, name: engine, engine, code: { 'src/index.js': '' } });

/** A runtime of an engine of its own, with an active endpoint; calls of it are answered by `respond`. */
async function running(
  engine: string,
  respond?: (response: ServerResponse) => void,
): Promise<{ runtime: RecordedNodeRuntime; path: string }> {
  const runtime = await RecordedNodeRuntime.start(service, engine);
  after(() => runtime[Symbol.asyncDispose]());
  await service.serve(koOf(engine));
  const path = pathOf(koOf(engine));
  runtime.intercept = (asked, response) => {
    if (asked.path !== path || respond === undefined) return false;
    respond(response);
    return true;
  };
  return { runtime, path };
}

/** Calls, and asserts that the answer is this error within the time. */
async function assertFails(path: string, status: number, detail: RegExp, within: number): Promise<void> {
  const began = Date.now();
  const answer = await service.post(path, {});
  assertRequestError(answer, { status, path, title: 'General Adapter Exception', detail });
  const took = Date.now() - began;
  assert.ok(took < promised(within), `${took} ms`);
}

test('a runtime that lost the endpoint activates it again, once for all calls, and then answers', async () => {
  const { runtime, path } = await running('forgetful');
  assert.equal(runtime.activations.length, 1);
  runtime.forget();
  runtime.intercept = async ({ path: at }) => {
    // So that all calls have found it lost by then.
    if (at === '/endpoints') await until('all calls came', () => (runtime.calls.length >= 8 ? true : undefined));
    return false;
  };
  const answers = await Promise.all(Array.from({ length: 8 }, (_each, n) => service.post(path, n)));
  assert.deepEqual(
    answers.map((each) => each.object['result']),
    [0, 1, 2, 3, 4, 5, 6, 7],
  );
  assert.equal(runtime.activations.length, 2);
  assert.deepEqual(runtime.activations[1], runtime.activations[0]);
  assert.equal(runtime.calls.length, 16, 'each was tried twice');
});

test('a runtime that is not there is 502 at once, and other engines go on', async () => {
  const { runtime, path } = await running('gone');
  const { path: other } = await running('healthy');
  await runtime.kill();
  for (let i = 0; i < 3; i++) await assertFails(path, 502, /^Code execution error: .*gone runtime/, LIMIT);
  assert.equal((await service.post(other, 1)).object['result'], 1);
  const statuses = (await service.endpoints(naan)).map((each) => [each['engine'], each['status']]);
  assert.ok(statuses.some(([engine, status]) => engine === 'gone' && status === 'ACTIVATED'));
  assert.ok(statuses.some(([engine, status]) => engine === 'healthy' && status === 'ACTIVATED'));
  const health = (await service.get('/actuator/health')).object;
  assert.equal(health['status'], 'UP', 'one adapter that is DOWN leaves the whole UP');
  const components = health['components'] as Record<string, { status: string }>;
  assert.deepEqual([components['goneEngine']?.status, components['healthyEngine']?.status], ['DOWN', 'UP']);
});

test('a runtime that ends in the middle of its answer is 502, and never half a result', async () => {
  const { path } = await running('halfway', (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{"result": 1');
    setImmediate(() => response.socket?.destroy());
  });
  await assertFails(path, 502, /^Code execution error: /, LIMIT);
});

test('an answer without a length that ends in the middle of its JSON is an error, and never half a result', async () => {
  const head = 'HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n';
  const { path } = await running('unmeasured', (response) => response.socket?.end(`${head}{"result": {"dose": 4`));
  await assertFails(path, 500, /^Code execution error: the answer of the runtime is not JSON /, LIMIT);
});

test('a silent runtime is 504 at the limit, and so is one that drips; both are used again when they answer', async () => {
  const silent = await running('silent', () => undefined);
  const drips = await running('drips', (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const drip = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(drip));
  });
  const detail = /^Code execution error: .*no answer within 5 s/;
  await Promise.all([silent.path, drips.path].map((path) => assertFails(path, 504, detail, LIMIT + 800)));
  for (const { runtime, path } of [silent, drips]) {
    runtime.intercept = () => false;
    const answer = await tryAgain(
      () => service.post(path, 1),
      ({ status }) => status === 504,
    );
    assert.equal(answer.object['result'], 1);
  }
});

test('an answer that is too large is refused before it has arrived', async () => {
  let sent = 0;
  const endless = await running('endless', (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const pour = (): void => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
    };
    response.on('drain', pour);
    pour();
  });
  await assertFails(endless.path, 500, /^Code execution error: .*limit of 65536 bytes \(--max-result\)/, LIMIT);
  assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes`);

  const exact = JSON.stringify('x'.repeat(RESULT_LIMIT - 2));
  const { path } = await running('exact', (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(exact),
  );
  assert.equal(String((await service.post(path, {})).object['result']).length, RESULT_LIMIT - 2);
});

test('what is not HTTP is 502', async () => {
  const { path } = await running('garbage', (response) => response.socket?.end('\0\0garbage\r\n\r\n'));
  await assertFails(path, 502, /^Code execution error: .*garbage runtime/, LIMIT);
});

test('another program that has got the port of a runtime is not called', async () => {
  const { runtime, path } = await running('reused');
  assert.equal((await service.post(path, 1)).object['result'], 1);
  await runtime.kill();
  const asked: string[] = [];
  const other = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    response.setHeader('content-type', 'application/json').end('{"result": "of another program"}');
  }).listen(runtime.port, '127.0.0.1');
  await once(other, 'listening');
  try {
    // An answer to `GET /info` counts for a moment.
    await until('it is asked who it is', async () => ((await service.post(path, 2)).status === 502 ? true : undefined));
    asked.length = 0;
    const statuses = await Promise.all(Array.from({ length: 6 }, async () => (await service.post(path, 3)).status));
    assert.deepEqual([...new Set(statuses)], [502]);
    assert.deepEqual([...new Set(asked)], ['GET /info']);
  } finally {
    other.close();
    other.closeAllConnections();
  }
});
