/** What an activation that fails leaves: in the log, the audit, the failures, the metrics, and for those who call it. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from './support/ko.ts';
import { startService } from './support/service.ts';

const naan = uniqueNaan();
const service = await startService();
after(() => service[Symbol.asyncDispose]());

const broken = javascriptKo('function run(input) {\n  return input +;\n}', { naan, name: 'broken' });
const endpoint = `${naan}/broken/1.0/run`;

test('a reload that cannot activate what it is about leaves a line with its fields, an audit outcome, a count and a failure', async () => {
  await service.serve(javascriptKo('function run() { return 1; }', { naan, name: 'broken' }));
  await service.add(broken);
  assert.equal((await service.get(`/actuator/reload/${broken.id}`)).status, 303);
  const line = await service.logged(({ event }) => event === 'activation-failed');
  assert.deepEqual(
    [line['level'], line['ko'], line['endpoint'], line['engine'], line['status']],
    ['warn', broken.id, endpoint, 'javascript', 'FAILED_TO_ACTIVATE'],
  );
  assert.match(String(line['reason']), /src\/index\.js line 2/);
  assert.match(String(line['digest']), /^sha256:[0-9a-f]{64}$/);

  const [record] = (await service.get(`/actuator/audit?ko=${broken.id}&limit=1`)).list;
  assert.deepEqual(
    [record?.['action'], record?.['outcome'], record?.['notActive']],
    ['reload', 'failed', `1 of 1: ${endpoint}`],
  );
  const [failure] = (await service.get(`/actuator/failures?ko=${broken.id}`)).list;
  assert.deepEqual(
    [failure?.['code'], failure?.['endpoint'], failure?.['count'], failure?.['message']],
    ['activation-failed', 'run', 1, line['reason']],
  );
  const metrics = (await service.get('/actuator/prometheus')).text;
  assert.match(metrics, /^kgrid_activations_total\{engine="javascript",result="failed"\} 1$/m);
});

test('a refresh of all that fails in part says so in the audit', async () => {
  await service.serve(javascriptKo('function run() { return 1; }', { naan, name: 'good' }));
  await service.get('/actuator/refresh');
  const [record] = (await service.get('/actuator/audit?limit=1')).list;
  assert.deepEqual([record?.['action'], record?.['outcome']], ['refresh', 'partly']);
  assert.equal(record?.['notActive'], `1 of 2: ${endpoint}`);
});

test('calls of what could not be activated are told from calls of what is not known', async () => {
  const answer = await service.post(pathOf(broken), {});
  assert.equal(answer.status, 404);
  assert.match(String(answer.object['Detail']), /failed to activate/);
  await service.logged(({ event, code }) => event === 'call-failed' && code === 'endpoint-not-active');
  assert.equal((await service.post(`/${naan}/unknown/1.0/run`, {})).status, 404);
  const metrics = (await service.get('/actuator/prometheus')).text;
  const labels = `ko="${naan}/broken",version="v1.0",endpoint="run",engine="javascript"`;
  assert.match(metrics, new RegExp(`^kgrid_executions_total\\{${labels},outcome="endpoint-not-active"\\} 1$`, 'm'));
  assert.doesNotMatch(metrics, /endpoint-not-found/);
});
