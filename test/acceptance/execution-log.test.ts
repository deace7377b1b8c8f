/** A line for each call where the operator asks for it, and nothing of a patient in it. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { jsonBody } from './support/client.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from './support/ko.ts';
import { runToEnd, startService } from './support/service.ts';

const naan = uniqueNaan();
const well = javascriptKo('function run(p) { if (p.bad) throw new Error("no " + p.name); return p; }', { naan });
const service = await startService({ args: ['--log-executions'] });
after(() => service[Symbol.asyncDispose]());
await service.serve(well);
const PATIENT = 'Mrs Secret, 1950-01-01';

test('a call leaves a line that says what ran, how it ended and how long it took', async () => {
  const sent = jsonBody({ name: PATIENT });
  const { headers } = await service.send('POST', pathOf(well), sent);
  const executionId = headers['kgrid-execution-id'];
  const line = await service.logged((each) => each['event'] === 'execution' && each['executionId'] === executionId);
  const { time, milliseconds, ...rest } = line;
  assert.ok(typeof milliseconds === 'number' && milliseconds >= 0 && typeof time === 'string');
  assert.deepEqual(rest, {
    ...{ level: 'info', part: 'calls', event: 'execution', ko: well.id, endpoint: pathOf(well).slice(1) },
    ...{ engine: 'javascript', digest: headers['kgrid-package-digest'], outcome: 'done' },
    ...{ inputBytes: String(sent.body).length, resultBytes: String(sent.body).length },
    ...{ requestId: headers['x-request-id'], executionId, remoteAddress: '127.0.0.1', msg: 'a call ended' },
  });
});

test('one that failed says so, and records of a batch share lines', async () => {
  const { headers } = await service.send('POST', pathOf(well), jsonBody({ name: PATIENT, bad: true }));
  const id = headers['kgrid-execution-id'];
  const line = await service.logged((each) => each['event'] === 'execution' && each['executionId'] === id);
  assert.deepEqual([line['outcome'], line['resultBytes']], ['code-error', undefined]);
  const body = [{}, { bad: true, name: PATIENT }, {}].map((each) => `${JSON.stringify(each)}\n`).join('');
  const batch = await service.send('POST', pathOf(well), { headers: { 'content-type': 'application/x-ndjson' }, body });
  const of = batch.headers['kgrid-execution-id'];
  const lines = () => service.log.filter((each) => each['event'] === 'execution' && each['executionId'] === of);
  const sum = (key: string): number => lines().reduce((all, each) => all + Number(each[key]), 0);
  await service.logged(() => sum('records') === 3);
  assert.equal(sum('failed'), 1);
});

test('nothing of an input is in the log, and with --log-inputs the input is', async () => {
  assert.equal(JSON.stringify(service.log).includes('Secret'), false);
  await using telling = await startService({ args: ['--log-executions', '--log-inputs'] });
  await telling.serve(well);
  await telling.send('POST', pathOf(well), jsonBody({ name: PATIENT }));
  const line = await telling.logged((each) => each['event'] === 'execution');
  assert.deepEqual(JSON.parse(String(line['inputs'])), { name: PATIENT });
  await telling.logged(({ level, msg }) => level === 'warn' && /--log-inputs/.test(String(msg)));
  const refused = await runToEnd({ args: ['--log-inputs'] });
  assert.match(refused.stderr, /--log-inputs adds to the lines of --log-executions/);
});

test('without the option, and where info is not logged, there are no lines', async () => {
  await using quiet = await startService({ args: [] });
  await quiet.serve(well);
  const { headers } = await quiet.send('POST', pathOf(well), jsonBody({ bad: true }));
  await quiet.logged(
    ({ event, executionId }) => event === 'call-failed' && executionId === headers['kgrid-execution-id'],
  );
  assert.equal(JSON.stringify(quiet.log).includes('"execution"'), false);
});
