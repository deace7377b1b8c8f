import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { jsonBody } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { RecordedNodeRuntime } from './support/recorded-node-runtime.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { until } from './support/until.ts';

const PLACE = '/proxy/environments';
const naan = uniqueNaan();
const service = await startService({ args: ['--runtime-expiry', '1s'] });
after(() => service[Symbol.asyncDispose]());

const forgotten = (url: string) =>
  service.logged(({ url: of, msg }) => of === url && /no sign of life for 1 s and is forgotten/.test(String(msg)));

test('a runtime that is gone is forgotten, and comes back by registering; one that answers stays', async () => {
  const ko = runtimeKo({ naan, name: 'gone', engine: 'expires', code: { 'src/index.txt': '' } });
  await service.serve(ko);
  await using stays = await RecordedNodeRuntime.start(service, 'stays');
  await using runtime = await RecordedNodeRuntime.start(service, 'expires');
  await until('it is active', () => (runtime.activations.length > 0 ? true : undefined));
  await service.reload(ko);
  await runtime.kill();
  await forgotten(runtime.url);
  assert.equal((await service.get(`${PLACE}/expires`)).status, 404);
  assert.equal((await service.post(pathOf(ko), 1)).status, 502);

  await runtime.listen();
  assert.equal((await runtime.register(false)).object['status'], 'new');
  await until('it answers', async () => ((await service.post(pathOf(ko), 1)).status === 200 ? true : undefined));
  // It sent no heartbeat in all that time, as old ones do.
  assert.equal((await service.get(`${PLACE}/stays`)).object['status'], 'up');
  assert.ok(!service.log.some(({ url, msg }) => url === stays.url && /forgotten/.test(String(msg))));
});

test('one that never came up is forgotten too', async () => {
  const url = 'http://127.0.0.1:1';
  await service.send('POST', PLACE, jsonBody({ engine: 'never', url, forceUpdate: true }));
  await forgotten(url);
  assert.equal((await service.get(`${PLACE}/never`)).status, 404);
});
