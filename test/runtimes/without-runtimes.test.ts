import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { until } from './support/until.ts';

const naan = uniqueNaan();
const local = welcomeKo({ naan, name: 'local' });
const node = runtimeKo({ naan, name: 'node', engine: 'node', code: { 'src/index.js': 'exports.run = (n) => n + 1;' } });
const python = runtimeKo({ naan, name: 'python', engine: 'python', code: { 'src/main.py': 'def run(n): return n' } });

/** Once it is decided: a runtime may still be starting. */
const endpointOf = (service: OwnService, name: string): Promise<JsonObject> =>
  until(`the endpoint of ${name} is decided`, async () => {
    const endpoint = (await service.get(`/endpoints/${naan}/${name}/1.0/run`)).object;
    return endpoint['status'] === 'LOADED' ? undefined : endpoint;
  });
const componentOf = async (service: OwnService, name: string): Promise<unknown> =>
  ((await service.get('/actuator/health')).object['components'] as JsonObject)[name];

test('without python3 the python engine is absent and says what to install, and all else works', async () => {
  await using empty = await temporaryFolder();
  await using service = await startService({ args: ['--runtimes', 'node,python'], env: { PATH: empty.path } });
  const advice =
    'python3 is not installed; install Python 3.9 or newer ' +
    '(Debian: apt-get install python3 python3-venv python3-pip) and start again';
  await service.logged(({ level, msg }) => level === 'warn' && msg === advice);
  await service.serve(local, node, python);
  const { status, detail } = await endpointOf(service, 'python');
  assert.deepEqual([status, detail], ['FAILED_TO_ACTIVATE', advice]);
  const call = await service.post(pathOf(python), 1);
  assert.equal(call.status, 404);
  assert.ok(String(call.object['Detail']).endsWith(advice), call.text);
  const down = { status: 'DOWN', details: { engines: ['python'], runtimes: 0, up: 0, problem: advice } };
  assert.deepEqual(await componentOf(service, 'pythonEngine'), down);
  assert.equal((await service.get('/actuator/health')).object['status'], 'UP');

  assert.equal((await endpointOf(service, 'node'))['status'], 'ACTIVATED');
  assert.equal((await service.post(pathOf(node), 1)).object['result'], 2);
  assert.equal((await service.post(pathOf(local, 'welcome'), { name: 'Ada' })).status, 200);
});

test('with --runtimes none nothing is started, and an endpoint says that no runtime has registered', async () => {
  await using service = await startService({ args: ['--runtimes', 'none'] });
  await service.serve(local, node);
  const { status, detail } = await endpointOf(service, 'node');
  assert.equal(status, 'FAILED_TO_ACTIVATE');
  assert.equal(detail, 'no node runtime has registered; start one and point it at this service');
  assert.deepEqual(await componentOf(service, 'nodeEngine'), {
    status: 'DOWN',
    details: { engines: ['node'], runtimes: 0, up: 0 },
  });
  assert.deepEqual((await service.get('/proxy/environments')).list, []);
  assert.equal((await service.post(pathOf(local, 'welcome'), { name: 'Ada' })).status, 200);
  assert.ok(!service.log.some(({ msg }) => msg === 'runtime started'));
});
