/** The stop of a service whose node and python runtimes are at work. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { Pace } from '../hostile/support/pace.ts';
import { descendantsOf } from '../runtimes/support/processes.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { until } from '../runtimes/support/until.ts';
import { assertGone } from './support/gone.ts';

const naan = uniqueNaan();
const local = javascriptKo('function run(n) { return n + 1; }', { naan, name: 'local' });
const LOCAL = `${naan}/local/1.0/run`;
/** Each says in its log that it has begun, takes a while, and then calls a knowledge object of another engine. */
const node = runtimeKo({
  naan,
  name: 'node',
  engine: 'node',
  code: {
    'src/index.js': `exports.run = async (n) => {
      console.log('node begins');
      while (n === 'spin');
      await new Promise((done) => setTimeout(done, 800));
      return global.cxt.getExecutorByID('${LOCAL}').execute(n);
    };`,
  },
});
const python = runtimeKo({
  naan,
  name: 'python',
  engine: 'python',
  code: {
    'src/main.py': [
      'import time',
      'from kgrid_python_runtime.context import Context',
      'def run(n):',
      '    print("python begins")',
      '    while n == "spin": pass',
      '    time.sleep(0.8)',
      `    return Context().get_executor_by_id("${LOCAL}")(n)`,
    ].join('\n'),
  },
});

async function start(grace: number): Promise<OwnService> {
  const service = await startService({
    args: ['--runtimes', 'node,python', '--shutdown-grace', `${grace}ms`, '--runtime-timeout', '20s'],
  });
  await service.add(local, node, python);
  await service.get('/actuator/activation/reload');
  await until('all are active', async () => {
    const statuses = (await service.endpoints(naan)).map((each) => each['status']);
    return statuses.length === 3 && statuses.every((each) => each === 'ACTIVATED') ? true : undefined;
  });
  return service;
}

/** Calls both; resolves when their code runs. */
async function begin(service: OwnService, input: unknown): Promise<{ answers: Promise<(Answer | undefined)[]> }> {
  const call = (ko: Ko): Promise<Answer | undefined> =>
    service.post(pathOf(ko), JSON.stringify(input)).catch(() => undefined);
  const answers = Promise.all([node, python].map(call));
  for (const engine of ['node', 'python']) await service.logged(({ msg }) => msg === `${engine} begins`);
  return { answers };
}

test('calls in progress may still call knowledge objects of other engines', async () => {
  await using service = await start(15_000);
  const { answers } = await begin(service, 1);
  const stopped = service.stop();
  for (const answer of await answers) assert.equal(answer?.object['result'], 2, answer?.text);
  assert.deepEqual(await stopped, { code: 0, signal: null });
});

test('code in runtimes that does not end is ended with the grace period, and nothing is left', async () => {
  const GRACE = 1500;
  await using service = await start(GRACE);
  using pace = new Pace();
  const { answers } = await begin(service, 'spin');
  const processes = await descendantsOf(service.pid);
  const began = Date.now();
  assert.deepEqual(await service.stop(), { code: 0, signal: null });
  const took = Date.now() - began;
  assert.ok(took < GRACE + pace.allowed(1000, began, took), `${took} ms`);
  await assertGone(processes);
  for (const answer of await answers) assert.notEqual(answer?.status, 200);
});
