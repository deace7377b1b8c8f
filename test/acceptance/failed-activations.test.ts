/** What an activation that fails leaves: in the log, the audit, the failures, the metrics, and for those who call it. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from './support/ko.ts';
import { scrapeUntil } from '../metrics/support/series.ts';
import { startService, temporaryFolder } from './support/service.ts';

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
  const failed = 'kgrid_activations_total{engine="javascript",result="failed"}';
  assert.equal((await scrapeUntil(service, (found) => found.has(failed))).get(failed), 1);
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
  const labels = `ko="${naan}/broken",version="v1.0",endpoint="run",engine="javascript"`;
  const series = await scrapeUntil(service, (found) =>
    found.has(`kgrid_executions_total{${labels},outcome="endpoint-not-active"}`),
  );
  assert.equal(series.get(`kgrid_executions_total{${labels},outcome="endpoint-not-active"}`), 1);
  assert.ok(![...series.keys()].some((each) => each.includes('endpoint-not-found')));
});

test('lists of endpoints can be asked for those of one status', async () => {
  const ids = async (path: string): Promise<unknown[]> => (await service.get(path)).list.map((each) => each['@id']);
  const good = `${naan}/good/1.0/run`;
  assert.deepEqual(await ids('/endpoints?status=FAILED_TO_ACTIVATE'), [endpoint]);
  assert.deepEqual(await ids('/endpoints?status=activated'), [good]);
  assert.deepEqual(await ids('/endpoints/javascript?status=Failed_To_Activate&limit=1'), [endpoint]);
  assert.deepEqual(await ids(`/endpoints?status=ACTIVATED&q=broken`), []);
  assert.deepEqual(await ids('/endpoints?status=LOADED'), []);
  const { status, object } = await service.get('/endpoints?status=broken');
  assert.equal(status, 400);
  assert.match(String(object['Detail']), /status must be one of LOADED, ACTIVATED, FAILED_TO_ACTIVATE/);
});

test('what a start activates has one record in the audit', async () => {
  await using shelf = await temporaryFolder();
  const start = { shelf: shelf.path };
  {
    await using first = await startService(start);
    await first.add(broken, javascriptKo('function run() { return 1; }', { naan, name: 'good' }));
    assert.ok(
      (await first.get('/actuator/audit')).list.every(({ action }) => action !== 'start'),
      'of nothing none',
    );
  }
  await using again = await startService(start);
  await again.logged(({ audit, action }) => audit === true && action === 'start');
  const [record] = (await again.get('/actuator/audit?limit=1')).list;
  assert.deepEqual(
    [record?.['who'], record?.['login'], record?.['action'], record?.['subject'], record?.['outcome']],
    ['kgrid-activator', 'start', 'start', 'all', 'partly'],
  );
  assert.match(String(record?.['digests']), new RegExp(`^${naan}/good/v1\\.0 [0-9a-f]{64}$`));
  assert.equal(record?.['notActive'], `1 of 2: ${endpoint}`);
});
