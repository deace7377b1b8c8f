import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { RecordedNodeRuntime } from './support/recorded-node-runtime.ts';
import { RecordedPythonRuntime } from './support/recorded-python-runtime.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { until } from './support/until.ts';
import { theHostsService } from './support/the-services.ts';

const naan = uniqueNaan();
const service = await theHostsService();

const nodeKo = runtimeKo({ naan, name: 'node', engine: 'node', code: { 'src/index.js': '// node' } });
const pythonKo = runtimeKo({ naan, name: 'trimzeros', engine: 'Python', code: { 'src/trim.py': '# python' } });
await service.serve(nodeKo, pythonKo);

/** Waits until a runtime that came in the background runs the endpoint. */
const activated = (id: string) =>
  until(`${id} is active`, async () => {
    const endpoint = (await service.get(`/endpoints/${id}`)).object;
    return endpoint['status'] === 'ACTIVATED' ? endpoint : undefined;
  });

test('the node runtime of others registers before it listens, and then runs its endpoints', async () => {
  await using runtime = await RecordedNodeRuntime.start(service);
  runtime.run = (input) => ({ got: input });
  const endpoint = await activated(`${naan}/node/1.0/run`);
  assert.equal(endpoint['engine'], 'node');
  const answer = await service.post(pathOf(nodeKo), { n: 1 });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.object['result'], { got: { n: 1 } });
  assert.deepEqual([...runtime.artifacts.values()], ['// node']);
  assert.deepEqual(
    runtime.calls.map(({ path, headers, body }) => [path, headers['content-type'], body.toString()]),
    [[`/${naan}/node/1.0/run`, 'application/json', '{"n":1}']],
  );
  const info = (await service.get('/proxy/environments/node')).object;
  assert.deepEqual(
    [info['app'], info['engine'], info['url'], info['status']],
    ['kgrid-node', 'node', runtime.url, 'up'],
  );

  runtime.run = () => {
    throw new TypeError('weight is not a number');
  };
  const failed = await service.post(pathOf(nodeKo), {});
  assert.equal(failed.status, 500);
  assert.equal(failed.object['Title'], 'General Adapter Exception');
  assert.equal(failed.object['Detail'], 'Code execution error: TypeError: weight is not a number');
});

test('the python runtime of others answers the activation though its one thread has just registered', async () => {
  await using runtime = await RecordedPythonRuntime.start(service);
  runtime.run = (input) => Number(input);
  await activated(`${naan}/trimzeros/1.0/run`);
  const path = pathOf(pythonKo);
  assert.equal((await service.post(path, '7.0')).object['result'], 7);
  const key = `/${naan}_trimzeros_1_0_run`;
  assert.deepEqual([...new Set(runtime.calls.map((each) => each.path))], [key], 'its own key as uri');

  // It closes the connection after each answer.
  const inputs = Array.from({ length: 20 }, (_, i) => i);
  const answers = await Promise.all(inputs.map((n) => service.post(path, String(n))));
  assert.deepEqual(
    answers.map((each) => each.object['result']),
    inputs,
  );

  runtime.run = () => {
    throw new RangeError('not in range');
  };
  const failed = await service.post(path, '1');
  assert.equal(failed.status, 500);
  assert.equal(failed.object['Title'], 'General Adapter Exception');
  assert.equal(failed.object['Detail'], 'Code execution error: RangeError: not in range');
});

test('while the one thread of a runtime is at a call, other calls wait for their turn', async () => {
  const engine = 'single';
  await using runtime = await RecordedPythonRuntime.start(service, { engine });
  const ko = runtimeKo({ naan, name: engine, engine, code: { 'src/x.py': '# x' } });
  await service.serve(ko);
  const { promise: ends, resolve: end } = Promise.withResolvers<void>();
  runtime.intercept = async ({ body }) => {
    if (body.toString() === '"slow"') await ends;
    return false;
  };
  const path = pathOf(ko);
  const slow = service.post(path, '"slow"');
  // Longer than an answer to `GET /info` is waited for elsewhere.
  await later(2500);
  const others = [service.post(path, '1'), service.post(path, '2')];
  await later(2500);
  others.push(service.post(path, '3'));
  end();
  const results = (await Promise.all([slow, ...others])).map((answer) => answer.object['result']);
  assert.deepEqual(results, ['slow', 1, 2, 3]);
  assert.equal(runtime.activations.length, 1, 'it was never lost');
});

test('a runtime whose port belongs to another program is never used', async () => {
  const engine = 'taken';
  const ko = runtimeKo({ naan, name: engine, engine, code: { 'src/index.py': '# taken' } });
  await service.serve(ko);
  const asked: string[] = [];
  const other = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    response.setHeader('content-type', 'text/html').end('<h1>Another program</h1>');
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port: takenPort } = other.address() as AddressInfo;
  try {
    await RecordedPythonRuntime.start(service, { engine, takenPort });
    await using real = await RecordedPythonRuntime.start(service, { engine });
    real.run = () => 'the real one';
    await activated(`${naan}/${engine}/1.0/run`);
    for (let i = 0; i < 6; i++) {
      assert.equal((await service.post(pathOf(ko), '1')).object['result'], 'the real one');
    }
    assert.deepEqual([...new Set(asked)], ['GET /info']);
    const environments = (await service.get('/proxy/environments')).list;
    const listed = environments.find((each) => each['url'] === `http://127.0.0.1:${takenPort}`);
    assert.equal(listed?.['status'], 'Activator could not connect to runtime');
  } finally {
    other.close();
    other.closeAllConnections();
  }
});

test('an endpoint in processing is LOADED with what the runtime says, and tried again', async () => {
  const engine = 'slow';
  const ko = runtimeKo({ naan, name: engine, engine, code: { 'src/slow.py': '# slow' } });
  await using runtime = await RecordedPythonRuntime.start(service, { engine });
  const released = Promise.withResolvers<void>();
  let refused = 0;
  runtime.intercept = ({ path }, response) => {
    if (path !== '/endpoints' || refused === 2) return false;
    if (++refused === 2) released.resolve();
    const description = 'Endpoint is in processing, try again later.';
    const body = JSON.stringify({ code: 503, name: 'Service Unavailable', description });
    response.writeHead(503, { 'content-type': 'application/json', connection: 'close' }).end(body);
    return true;
  };
  await service.add(ko);
  const reloaded = service.reload(ko);
  await released.promise;
  assert.deepEqual(await service.endpoints(`${naan}/${engine}`), [], 'not there before the reload is done');
  await reloaded;
  const endpoint = (await service.get(`/endpoints/${naan}/${engine}/1.0/run`)).object;
  assert.equal(endpoint['status'], 'ACTIVATED', JSON.stringify(endpoint));
  assert.equal(runtime.activations.length, 1);
});

test('an endpoint that a runtime refuses has the words of the runtime as detail', async () => {
  const engine = 'strict';
  await using runtime = await RecordedPythonRuntime.start(service, { engine });
  const refusals = [
    { status: 500, said: { code: 500, description: 'requirements.txt line 3: no such package' } },
    { status: 400, said: { status: 'Could not fetch artifact src/x.py' } },
    { status: 404, said: {} },
    { status: 502, said: '<html>', words: 'it answered 502' },
    { status: 200, said: '<html>', words: 'it answered 200 without an endpoint' },
    { status: 200, said: { status: 'Failed', description: 'cannot compile' } },
    { status: 500, said: { description: 'npm failed:\n  code E404\n' }, words: 'npm failed: / code E404' },
  ];
  for (const [i, { status, said, words }] of refusals.entries()) {
    const ko = runtimeKo({ naan, name: `strict${i}`, engine, code: { 'src/x.py': '# x' } });
    runtime.intercept = ({ path }, response) => {
      const body = typeof said === 'string' ? said : JSON.stringify(said);
      if (path === '/endpoints') response.writeHead(status).end(body);
      return path === '/endpoints';
    };
    await service.serve(ko);
    const endpoint = (await service.get(`/endpoints/${naan}/strict${i}/1.0/run`)).object;
    assert.equal(endpoint['status'], 'FAILED_TO_ACTIVATE');
    const own = typeof said === 'string' ? undefined : (said.description ?? said.status);
    assert.equal(endpoint['detail'], `the strict runtime says: ${words ?? own ?? 'it answered 404'}`);
    const answer = await service.post(pathOf(ko), {});
    assert.equal(answer.status, 404);
    assert.ok(String(answer.object['Detail']).endsWith(String(endpoint['detail'])), answer.text);
  }
});
