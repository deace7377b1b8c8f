import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { jsonBody, sender, upload } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, serviceDescriptor, uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { theService } from '../acceptance/support/the-service.ts';
import { tryAgain } from '../support/try-again.ts';
import { scrape, scrapeUntil, seriesIn } from './support/series.ts';

const CODE = `function run(input) {
  if (input.fail) throw new Error('as it was asked to');
  if (input.loop) for (;;);
  return input;
}`;

const service = await theService();
const naan = uniqueNaan();
const ko = javascriptKo(CODE, { naan, name: 'counted' });
await service.serve(ko);
const call = (input: unknown) => service.post(pathOf(ko, 'run'), input);
const labels = (outcome: string): string =>
  `{ko="${naan}/counted",version="v1.0",endpoint="run",engine="javascript",outcome="${outcome}"}`;

test('calls count by their endpoint and how they ended, with what they took', async () => {
  for (let i = 0; i < 3; i++) assert.equal((await call({ i })).status, 200);
  assert.equal((await call({ fail: true })).status, 500);
  const series = await scrapeUntil(
    service,
    (found) => found.get(`kgrid_executions_total${labels('code-error')}`) === 1,
  );
  assert.equal(series.get(`kgrid_executions_total${labels('done')}`), 3);
  assert.equal(series.get(`kgrid_execution_duration_seconds_count${labels('done')}`), 3);
  const sum = series.get(`kgrid_execution_duration_seconds_sum${labels('done')}`) ?? 0;
  assert.ok(sum > 0 && sum < 60, String(sum));
  const digest = String((await call({})).headers['kgrid-package-digest']);
  assert.equal(series.get(`kgrid_ko_info{ko="${naan}/counted",version="v1.0",digest="${digest}"}`), 1);
  assert.ok((series.get('kgrid_isolates{engine="javascript"}') ?? 0) >= 1);
});

test('requests count by route, method and status, on the fast path as by the router', async () => {
  const count = (route: string, method: string, status: number): string =>
    `http_server_request_duration_seconds_count{route="${route}",method="${method}",status="${status}"}`;
  const before = await scrape(service);
  const plain = sender(service.url);
  await plain('POST', `/${naan}/counted/1.0/run`, jsonBody({}));
  await plain('POST', `/${naan}/counted/1.0/run`, {
    ...jsonBody({}),
    headers: { ...jsonBody({}).headers, origin: 'http://x' },
  });
  await plain('GET', `/kos/${ko.id}`);
  await plain('GET', `/kos/${ko.id}?`);
  for (let i = 0; i < 20; i++) await plain('GET', `/nothing-is-here-${i}`);
  await plain('PROPFIND', '/kos');
  await plain('REPORT', '/kos');
  const expected: [string, number][] = [
    [count('/:naan/:name/*', 'POST', 200), 2],
    [count('/kos/:naan/:name/:version', 'GET', 200), 2],
    [count('unmatched', 'GET', 404), 20],
    [count('/kos', 'other', 405), 2],
  ];
  const after = await scrapeUntil(service, (found) => found.get(count('/kos', 'other', 405)) === 2);
  for (const [name, by] of expected) assert.equal((after.get(name) ?? 0) - (before.get(name) ?? 0), by, name);
  assert.ok([...after.keys()].every((name) => !name.includes('nothing-is-here') && !name.includes('PROPFIND')));
});

test('records of a batch are calls, and the batch is counted', async () => {
  const before = await scrape(service);
  const lines = ['{"a":1}', '{"fail":true}', 'no json', ...Array<string>(50).fill('{}')].join('\n');
  const answer = await service.send('POST', pathOf(ko, 'run'), {
    body: lines,
    headers: { 'content-type': 'application/x-ndjson' },
  });
  assert.equal(answer.status, 200);
  const after = await scrapeUntil(
    service,
    (found) =>
      found.get('kgrid_batches_total{outcome="done"}') === (before.get('kgrid_batches_total{outcome="done"}') ?? 0) + 1,
  );
  const grown = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  assert.equal(grown('kgrid_batch_records_total{outcome="done"}'), 51);
  assert.equal(grown('kgrid_batch_records_total{outcome="failed"}'), 2);
  assert.equal(grown(`kgrid_executions_total${labels('done')}`), 51);
  assert.equal(after.get('kgrid_batches_running'), 0);
  const requests = 'http_server_request_duration_seconds_count{route="/:naan/:name/*",method="POST",status="200"}';
  assert.equal(grown(requests), 1);
});

test('inputs that break their schema count by their endpoint', async () => {
  const strict = javascriptKo(CODE, { naan, name: 'strict' });
  const deployment = { engine: 'javascript', artifact: 'src/index.js', function: 'run', validate: 'enforce' };
  const content = { 'application/json': { schema: { type: 'object', required: ['age'] } } };
  const post = { requestBody: { content }, responses: { '200': { description: 'x' } } };
  const descriptor = serviceDescriptor(`/${naan}/strict`, '1.0', []);
  await service.serve({
    ...strict,
    files: {
      ...strict.files,
      'service.yaml': JSON.stringify({ ...descriptor, paths: { '/run': { post } } }),
      'deployment.yaml': JSON.stringify({ '/run': { post: deployment } }),
    },
  });
  assert.equal((await service.post(pathOf(strict, 'run'), {})).status, 400);
  const own = `{ko="${naan}/strict",version="v1.0",endpoint="run",engine="javascript"`;
  const series = await scrape(service);
  assert.equal(series.get(`kgrid_validation_failures_total${own},part="input",action="refused"}`), 1);
  assert.equal(series.get(`kgrid_executions_total${own},outcome="invalid-input"}`), 1);
});

test('activations, imports and what lies on the shelf are counted', async () => {
  const before = await scrape(service);
  await service.serve(javascriptKo('function run( {', { naan, name: 'broken' }));
  assert.equal((await service.send('POST', '/kos', upload(Buffer.from('no zip')))).status, 400);
  const failed = 'kgrid_activations_total{engine="javascript",result="failed"}';
  const refused = 'kgrid_imports_total{outcome="import-refused"}';
  const after = await scrapeUntil(service, (found) => (found.get(refused) ?? 0) > (before.get(refused) ?? 0));
  for (const name of [
    failed,
    'kgrid_activation_duration_seconds_count{engine="javascript",result="failed"}',
    'kgrid_endpoints{engine="javascript",status="failed"}',
    'kgrid_imports_total{outcome="done"}',
    refused,
  ])
    assert.equal((after.get(name) ?? 0) - (before.get(name) ?? 0), 1, name);
  const { length } = (await service.get('/kos')).list;
  await scrapeUntil(service, (found) => found.get('kgrid_shelf_kos') === length);
});

test('a sandbox that is ended at a limit counts by its reason', async () => {
  const limited = javascriptKo(CODE, { naan, name: 'limited', deployment: { timeout: 300 } });
  await service.serve(limited);
  const before = await scrape(service);
  const answer = await tryAgain(() => service.post(pathOf(limited, 'run'), { loop: true }));
  assert.equal(answer.status, 500, answer.text);
  const lost = (found: ReadonlyMap<string, number>): number =>
    ['silent', 'timeout', 'ended']
      .map((reason) => found.get(`kgrid_process_restarts_total{kind="sandbox",engine="javascript",reason="${reason}"}`))
      .reduce<number>((sum, each) => sum + (each ?? 0), 0);
  const after = await scrapeUntil(service, (found) => lost(found) > lost(before));
  assert.ok((after.get('kgrid_processes{kind="sandbox",engine="javascript"}') ?? 0) > 0);
  assert.ok((after.get('kgrid_process_memory_bytes{kind="service",engine=""}') ?? 0) > 10e6);
});

test('the series of a knowledge object go when it leaves', async () => {
  const leaving = javascriptKo(CODE, { naan, name: 'leaving' });
  await service.serve(leaving);
  await service.post(pathOf(leaving, 'run'), {});
  const has = (found: ReadonlyMap<string, number>): boolean =>
    [...found.keys()].some((name) => name.includes(`"${naan}/leaving"`));
  await scrapeUntil(service, has);
  await service.delete(`/kos/${leaving.id}`);
  await service.reload(leaving);
  await scrapeUntil(service, (found) => !has(found));
});

test('the text is that of Prometheus, or of OpenMetrics where it is asked for, zipped where that may be', async () => {
  const plain = await service.get('/actuator/prometheus');
  assert.equal(plain.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  assert.match(plain.text, /# TYPE kgrid_executions_total counter\n/);
  const open = await service.get('/actuator/prometheus', {
    accept: 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    'accept-encoding': 'gzip',
  });
  assert.equal(open.headers['content-type'], 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  assert.equal(open.headers['content-encoding'], 'gzip');
  const text = gunzipSync(open.bytes).toString();
  assert.match(text, /# TYPE kgrid_executions counter\n[^#]*kgrid_executions_total\{/);
  assert.ok(text.endsWith('\n# EOF\n'));
  assert.deepEqual([...seriesIn(text).keys()], [...seriesIn((await service.get('/actuator/prometheus')).text).keys()]);
  assert.match((await service.get('/actuator/prometheus')).text, /# TYPE kgrid_executions_total counter\n/);
});

test('with a login it is as closed as info, unless it is opened; who is refused is counted', async () => {
  const credentials = 'ann:secret words';
  const env = { KGRID_USER: 'ann', KGRID_PASSWORD: 'secret words' };
  await using secured = await startService({ profile: 'secure', credentials, env });
  const args = ['--open-metrics', '--metrics-endpoints', '0'];
  await using opened = await startService({ profile: 'secure', credentials, env, args });
  const stranger = sender(secured.url);
  assert.equal((await stranger('GET', '/actuator/prometheus')).status, 401);
  assert.equal((await sender(secured.url, 'ann:wrong')('GET', '/actuator/prometheus')).status, 401);
  assert.equal((await sender(secured.url, 'ann:wrong')('GET', '/actuator/health')).status, 200);
  const series = await scrape(secured);
  assert.equal(series.get('kgrid_logins_refused_total{reason="missing"}'), 1);
  assert.equal(series.get('kgrid_logins_refused_total{reason="wrong"}'), 2);
  assert.equal((await sender(opened.url)('GET', '/actuator/prometheus')).status, 200);
  assert.equal((await sender(opened.url)('GET', '/actuator/info')).status, 401);
  await opened.serve(ko);
  await opened.post(pathOf(ko, 'run'), {});
  const own = `kgrid_executions_total{ko="other",version="other",endpoint="other",engine="javascript",outcome="done"}`;
  await scrapeUntil(opened, (found) => found.get(own) === 1);
});
