/**
 * "SIGTERM: readiness 503 at once, in-flight requests finish, exit 0 within the grace period; the process never
 * outlives it" – whatever clients and code do meanwhile.
 */
import assert from 'node:assert/strict';
import { Agent, get } from 'node:http';
import { test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import type { Answer } from '../acceptance/support/client.ts';
import { upload } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { footprintOf } from '../hostile/support/footprint.ts';
import { Pace } from '../hostile/support/pace.ts';
import { until } from '../runtimes/support/until.ts';
import { RawClient, postHead } from '../load/support/raw-client.ts';
import { assertGone } from './support/gone.ts';

const GRACE = 6000;
/** Milliseconds that a call in progress takes, which is well within the grace period. */
const BUSY = 1200;
const naan = uniqueNaan();
const well = javascriptKo('function run(n) { return n + 1; }', { naan, name: 'well' });
const slow = javascriptKo(
  `function run(n) { const end = Date.now() + ${BUSY}; while (Date.now() < end); return n + 1; }`,
  { naan, name: 'slow' },
);
const spinner = javascriptKo('function run() { while (true); }', { naan, name: 'spinner' });
const native = javascriptKo('function run() { return [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }', {
  naan,
  name: 'native',
});
const files = resourceKo({ naan, name: 'files', resources: { 'large.bin': Buffer.alloc(8_000_000, 'x') } });

async function start(): Promise<OwnService> {
  const service = await startService({ args: ['--shutdown-grace', `${GRACE}ms`, '--execution-timeout', '20s'] });
  await service.serve(well, slow, spinner, native, files);
  return service;
}

/** Clients that would hold up a service that waits for them. */
async function startClients(service: OwnService, stack: DisposableStack): Promise<void> {
  const form = upload(await zipOf(files.files));
  const head = postHead('/kos', {
    'Content-Type': String(form.headers?.['content-type']),
    'Content-Length': form.body.length,
  });
  const call = postHead(pathOf(well), { 'Content-Type': 'application/json', 'Content-Length': 1000 });
  const bodies = [
    '',
    'GET /ko',
    call.slice(0, 40),
    `${call}[`,
    `${head}${form.body.subarray(0, 500).toString('latin1')}`,
  ];
  for (const text of [...bodies, ...bodies, ...bodies]) {
    const client = await stack.use(new RawClient(service.url)).connected();
    client.write(text);
  }
  for (let i = 0; i < 3; i++) {
    const reader = await stack.use(new RawClient(service.url)).connected();
    reader.socket.pause();
    reader.write(`GET /kos/${files.id}/large.bin HTTP/1.1\r\nHost: x\r\n\r\n`);
    // A connection that was used and is kept.
    (await stack.use(new RawClient(service.url)).connected()).write('GET /kos HTTP/1.1\r\nHost: x\r\n\r\n');
  }
}

const lost = (): undefined => undefined;

/** Calls until the service refuses. */
async function callOn(service: OwnService): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (;;) {
    const answer = await service.post(pathOf(well), 1).catch(lost);
    if (answer === undefined) return answers;
    answers.push(answer);
  }
}

test('SIGTERM under load', async (t) => {
  await using service = await start();
  using stack = new DisposableStack();
  const pace = stack.use(new Pace());
  await startClients(service, stack);
  const busy = [service.post(pathOf(slow), 1), service.post(pathOf(slow), 2)];
  const hopeless = [service.post(pathOf(spinner), 1).catch(lost), service.post(pathOf(native), 1).catch(lost)];
  const others = [callOn(service), callOn(service)];
  await later(400);
  const { children } = await footprintOf(service.pid);
  const keptOpen = new Agent({ keepAlive: true });
  stack.defer(() => keptOpen.destroy());
  const probe = (): Promise<number> =>
    new Promise((resolve) => {
      get(`${service.url}/actuator/health/readiness`, { agent: keptOpen }, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      }).on('error', () => resolve(0));
    });
  assert.equal(await probe(), 200);

  const began = Date.now();
  const stopped = service.stop();
  await service.logged((line) => line['event'] === 'stopping');
  await t.test('it is not ready any more, at once', async () => {
    // 0: refused.
    assert.ok([0, 503].includes(await probe()));
    const took = Date.now() - began;
    assert.ok(took < pace.allowed(500, began, took), `${took} ms`);
  });
  await t.test('calls in progress are answered', async () => {
    for (const [i, answer] of (await Promise.all(busy)).entries()) {
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.object['result'], i + 2);
    }
    for (const answer of (await Promise.all(others)).flat()) {
      assert.ok(answer.status === 503 || answer.object['result'] === 2, answer.text);
    }
  });
  await t.test('it ends with 0 within the grace period', async () => {
    assert.deepEqual(await stopped, { code: 0, signal: null });
    const took = Date.now() - began;
    assert.ok(took < GRACE + pace.allowed(1000, began, took), `${took} ms`);
    assert.deepEqual(await Promise.all(hopeless), [undefined, undefined]);
  });
  await t.test('nothing that it started is left', async () => assertGone(children));
  await t.test('the shelf is whole and free for the next', async () => {
    await using next = await startService({ shelf: service.shelf });
    assert.equal((await next.post(pathOf(well), 1)).object['result'], 2);
    assert.equal((await next.get('/kos')).list.length, 5);
  });
});

test('a service that is stopped while it starts ends too', async () => {
  const top = javascriptKo('while (true); function run() {}', { naan: uniqueNaan() });
  await using first = await startService();
  await first.add(top);
  await first.stop();
  await using service = await startService({
    shelf: first.shelf,
    early: true,
    args: ['--shutdown-grace', `${GRACE}ms`],
  });
  using pace = new Pace();
  const children = await until('it has begun to start sandboxes', async () => {
    const found = (await footprintOf(service.pid)).children;
    return found.length > 1 ? found : undefined;
  });
  const began = Date.now();
  assert.deepEqual(await service.stop(), { code: 0, signal: null });
  const took = Date.now() - began;
  assert.ok(took < GRACE + pace.allowed(1000, began, took), `${took} ms`);
  await assertGone(children);
});
