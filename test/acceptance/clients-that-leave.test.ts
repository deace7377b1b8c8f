/** What nobody waits for any more is not begun. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { RecordedNodeRuntime } from '../runtimes/support/recorded-node-runtime.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { until } from '../runtimes/support/until.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from './support/ko.ts';
import { callsThatLeave } from './support/leaving-clients.ts';
import { theOwnService } from './support/the-service.ts';

const CLIENTS = 200;
/** Calls that may have their turn already when the others leave. */
const BEGUN = 20;
const CODE = `function run({ ms = 0, padding }) {
  console.log('ran');
  const end = Date.now() + ms;
  while (Date.now() < end);
  return 'done';
}`;

const service = await theOwnService();
const naan = uniqueNaan();

async function runsAfterLeaving(name: string, body: object): Promise<number> {
  const ko = javascriptKo(CODE, { naan, name });
  await service.serve(ko);
  const { leave } = await callsThatLeave(service, pathOf(ko), Array<object>(CLIENTS).fill(body));
  const runs = (): number => service.log.filter((line) => line['console'] === true && line['ko'] === ko.id).length;
  await leave();
  const before = runs();
  const answer = await service.post(pathOf(ko), { ...body, ms: 0 });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.object['result'], 'done');
  await until('the last one is in the log', () => (runs() > before ? true : undefined));
  return runs() - before;
}

test('of 200 clients that leave, few calls are run, and whoever comes next has its turn', async () => {
  const runs = await runsAfterLeaving('small', { ms: 200 });
  assert.ok(runs <= BEGUN, `the code ran ${runs} times after its callers had left`);
});

test('so it is with large bodies', async () => {
  const runs = await runsAfterLeaving('large', { ms: 200, padding: 'x'.repeat(100_000) });
  assert.ok(runs <= BEGUN, `the code ran ${runs} times after its callers had left`);
});

test('a runtime gets the calls for which it had a connection, and none of those who left before', async () => {
  const runtime = await RecordedNodeRuntime.start(service, 'patient');
  after(() => runtime[Symbol.asyncDispose]());
  const answering = Promise.withResolvers<void>();
  let called = 0;
  runtime.intercept = async ({ method, path }) => {
    if (method !== 'POST' || path === '/endpoints') return false;
    called++;
    await answering.promise;
    return false;
  };
  const ko = runtimeKo({ naan, name: 'remote', engine: 'patient', code: { 'src/index.js': '' } });
  await service.serve(ko);
  await until('it holds the endpoint', () => (runtime.activations.length > 0 ? true : undefined));
  const { leave } = await callsThatLeave(service, pathOf(ko), Array<object>(CLIENTS).fill({}));
  await leave();
  const last = service.post(pathOf(ko), {});
  await until('some calls are there', () => (called > 0 ? true : undefined));
  answering.resolve();
  assert.equal((await last).status, 200);
  assert.ok(called <= 65, `${called} of ${CLIENTS} calls reached the runtime`);
});
