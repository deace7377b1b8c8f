import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestRegistry } from '../../runtimes/node/test/registry.ts';
import { explode } from '../acceptance/support/folders.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { until } from './support/until.ts';

test('an endpoint that takes long to install holds up neither the start nor a reload, and says what goes on', async () => {
  const naan = uniqueNaan();
  const local = welcomeKo({ naan, name: 'local' });
  const slow = runtimeKo({
    naan,
    name: 'slow',
    engine: 'node',
    code: {
      'src/index.js': 'exports.run = () => require("left");',
      'package.json': '{"dependencies": {"left": "1.0.0"}}',
    },
  });
  await using registry = await TestRegistry.start();
  await registry.publish('left', '1.0.0', 'module.exports = "left 1.0.0";');
  const gate = Promise.withResolvers<void>();
  registry.gate = gate.promise;
  await using shelf = await temporaryFolder();
  await explode(local, shelf.path, 'local');
  await explode(slow, shelf.path, 'slow');

  await using service = await startService({
    shelf: shelf.path,
    args: ['--runtimes', 'node'],
    env: { HOME: shelf.path, ...registry.settings },
  });
  const endpoint = async (): Promise<Readonly<Record<string, unknown>>> =>
    (await service.get(`/endpoints/${naan}/slow/1.0/run`)).object;
  assert.equal((await service.get('/actuator/health/readiness')).status, 200);
  assert.equal((await service.post(pathOf(local, 'welcome'), { name: 'Ada' })).status, 200);
  assert.equal((await endpoint())['status'], 'LOADED');

  const began = Date.now();
  const reload = service.get('/actuator/reload');
  assert.equal((await service.post(pathOf(local, 'welcome'), { name: 'Ada' })).status, 200, 'served meanwhile');
  const answer = await reload;
  const took = Date.now() - began;
  assert.deepEqual([answer.status, answer.headers['location']], [303, '/endpoints']);
  assert.ok(took > 8000, `${took} ms`);
  assert.equal((await endpoint())['status'], 'LOADED');
  await until('it says that it installs', async () =>
    /install/i.test(String((await endpoint())['detail'])) ? true : undefined,
  );
  assert.equal((await service.post(pathOf(local, 'welcome'), { name: 'Ada' })).status, 200);

  // A call waits for the activation.
  const call = service.post(pathOf(slow), {});
  gate.resolve();
  const called = await call;
  assert.equal(called.object['result'], 'left 1.0.0', called.text);
  assert.equal((await endpoint())['status'], 'ACTIVATED');
  assert.ok(!('detail' in (await endpoint())));
});
