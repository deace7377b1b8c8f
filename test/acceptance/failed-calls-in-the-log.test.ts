/** What operators and authors find in the log of calls that failed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecordedNodeRuntime } from '../runtimes/support/recorded-node-runtime.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { until } from '../runtimes/support/until.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { startService } from './support/service.ts';
import type { LogLine } from './support/service.ts';
import { theOwnService } from './support/the-service.ts';

const naan = uniqueNaan();
const service = await theOwnService();

async function failing(name: string, code: string): Promise<Ko> {
  const ko = javascriptKo(code, { naan, name });
  await service.serve(ko);
  return ko;
}
const linesOf = ({ id }: Ko): LogLine[] => service.log.filter(({ ko, console }) => ko === id && console === undefined);

test('a failed call leaves one line that says which code failed and how, and nothing of its input', async () => {
  const ko = await failing('throws', 'function run(patient) {\n  throw new TypeError("no " + patient.name);\n}');
  const answer = await service.post(pathOf(ko), { name: 'Bob Smith' });
  assert.equal(answer.status, 500);
  const {
    time,
    place = '(src/index.js line 2)',
    ...line
  } = await service.logged(({ event, ko: of }) => event === 'call-failed' && of === ko.id);
  assert.ok(time);
  assert.equal(place, '(src/index.js line 2)');
  assert.deepEqual(line, {
    level: 'warn',
    part: 'calls',
    event: 'call-failed',
    ko: ko.id,
    endpoint: `${naan}/throws/1.0/run`,
    engine: 'javascript',
    code: 'code-error',
    status: 500,
    requestId: answer.headers['x-request-id'],
    executionId: answer.headers['kgrid-execution-id'],
    msg: 'the code failed: TypeError',
  });
  assert.equal(linesOf(ko).length, 1);
  assert.doesNotMatch(JSON.stringify(service.log), /Bob|Smith/);
});

test('what code says is in the log with --log-messages alone, also where it ends its process', async () => {
  await using telling = await startService({ args: ['--log-messages', '--runtimes', 'node'] });
  await using silent = await startService({ args: ['--runtimes', 'node'] });
  const throwing = javascriptKo('function run() { throw new TypeError("born in May"); }', { naan, name: 'says' });
  const ending = runtimeKo({
    ...{ naan, name: 'ends', engine: 'node' },
    code: {
      'src/index.js':
        "exports.run = () => new Promise(() => setTimeout(() => { throw new RangeError('born in May'); }, 1));",
    },
  });
  for (const each of [telling, silent]) {
    await each.serve(throwing, ending);
    for (const ko of [throwing, ending]) {
      assert.match((await each.post(pathOf(ko), {})).text, /born in May/, 'its caller hears it');
      await each.logged(({ event, ko: of }) => event === 'call-failed' && of === ko.id);
    }
  }
  await telling.logged(({ level, msg }) => level === 'warn' && /--log-messages/.test(String(msg)));
  await telling.logged(({ msg }) => msg === 'TypeError: born in May');
  await silent.logged(({ msg }) => msg === 'the code failed: TypeError');
  assert.doesNotMatch(JSON.stringify(silent.log), /born in May/);
  assert.doesNotMatch((await silent.get('/actuator/failures')).text, /born in May/);
  assert.match((await telling.get('/actuator/failures')).text, /born in May/);
});

test('what HTTP refuses of a call leaves no line', async () => {
  const ko = await failing('fine', 'function run(n) { return n; }');
  assert.equal((await service.post(pathOf(ko), '{"name": "Bob')).status, 400);
  assert.equal(
    (await service.send('POST', pathOf(ko), { headers: { 'content-type': 'text/x' }, body: 'Bob' })).status,
    415,
  );
  await service.get('/actuator/refresh/afterwards');
  await service.logged(({ subject }) => subject === 'afterwards');
  assert.deepEqual(linesOf(ko), []);
});

test('a runtime that is gone leaves a line with the cause', async () => {
  const ko = runtimeKo({ naan, name: 'remote', engine: 'gone', code: { 'src/index.txt': '' } });
  await using runtime = await RecordedNodeRuntime.start(service, 'gone');
  await service.serve(ko);
  await until('it is active', async () =>
    (await service.get(`/endpoints/${naan}/remote/1.0/run`)).object['status'] === 'ACTIVATED' ? true : undefined,
  );
  await runtime.kill();
  assert.equal((await service.post(pathOf(ko), 1)).status, 502);
  const line = await service.logged(({ ko: of, event }) => of === ko.id && event === 'call-failed');
  assert.deepEqual([line['level'], line['engine'], line['code']], ['warn', 'gone', 'runtime-unreachable']);
});

test(
  'of many failures in a row the first leave lines, and of the rest their number is told',
  { timeout: 240_000 },
  async () => {
    const CALLS = 1000;
    await using flooded = await startService();
    const ko = javascriptKo('function run() { throw new Error("again"); }', { naan, name: 'flood' });
    await flooded.serve(ko);
    for (let i = 0; i < CALLS; i += 20)
      await Promise.all(Array.from({ length: 20 }, () => flooded.post(pathOf(ko), 1)));
    await flooded.stop();
    const lines = flooded.log.filter(({ ko: of }) => of === ko.id);
    const single = lines.filter(({ event }) => event === 'call-failed').length;
    const more = lines
      .filter(({ event }) => event === 'calls-failed')
      .reduce((sum, line) => sum + Number(line['more']), 0);
    assert.equal(single + more, CALLS, 'nothing is uncounted');
    assert.ok(lines.length < CALLS / 5, `${lines.length} lines`);
  },
);
