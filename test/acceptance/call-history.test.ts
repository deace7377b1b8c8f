/** The calls of the last hour, and what failed of them, as people look at them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from './support/client.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { startService } from './support/service.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const naan = uniqueNaan();
const CODE = `function run(input) {
  if (input.bad) throw Object.assign(new Error('refused'), { name: 'InvalidInputError', status: 400 });
  if (input.fail) throw new Error(input.fail);
  return input;
}`;
const called = javascriptKo(CODE, { naan, name: 'called' });
const silent = javascriptKo(CODE, { naan, name: 'silent' });
await service.serve(called, silent);

interface Past extends JsonObject {
  readonly calls: number[];
  readonly failed: number[];
  readonly p95: (number | null)[];
  readonly total: Record<string, number | null>;
  readonly kos: JsonObject[];
}
const historyOf = async (ko?: Ko, query = ''): Promise<Past> => {
  const answer = await service.get(`/actuator/history?${ko === undefined ? '' : `ko=${ko.id}`}${query}`);
  assert.deepEqual([answer.status, answer.headers['cache-control']], [200, 'no-store'], answer.text);
  return answer.object as Past;
};
const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

test('calls of the last hour are told for all and for one knowledge object, those of a moment ago too', async () => {
  for (let i = 0; i < 5; i++) assert.equal((await service.post(pathOf(called), { a: i })).status, 200);
  for (let i = 0; i < 2; i++) assert.equal((await service.post(pathOf(called), { fail: 'x' })).status, 500);
  assert.equal((await service.post(pathOf(called), { bad: true })).status, 400);
  const lines = Buffer.from('{"a":1}\n{"a":2}\n{"fail":"y"}\n');
  const headers = { 'content-type': 'application/x-ndjson', accept: 'application/x-ndjson' };
  assert.equal((await service.send('POST', pathOf(called), { headers, body: lines })).status, 200);

  const own = await historyOf(called);
  const { steps, step, from, total, kos } = own;
  assert.equal(step, 30);
  for (const list of ['calls', 'failed', 'p50', 'p95', 'p99'])
    assert.equal((own[list] as number[]).length, steps, list);
  assert.deepEqual([sum(own.calls), sum(own.failed)], [11, 3]);
  assert.deepEqual([total['calls'], total['failed']], [11, 3]);
  assert.ok((total['p50'] ?? -1) > 0 && (total['p50'] ?? 0) <= (total['p95'] ?? 0) && Number(total['perSecond']) > 0);
  assert.ok(Date.parse(String(from)) <= Date.now());
  const { ko, endpoint, engine, calls, failed } = kos[0] ?? {};
  assert.deepEqual([kos.length, ko, endpoint, engine, calls, failed], [1, called.id, 'run', 'javascript', 11, 3]);

  const none = await historyOf(silent);
  assert.deepEqual([sum(none.calls), none.kos, none.total['p95']], [0, [], null]);
  const all = await historyOf();
  assert.ok(sum(all.calls) >= 11 && all.kos.some((each) => each['ko'] === called.id));
  const counts = all.kos.map((each) => Number(each['calls']));
  assert.deepEqual(
    counts,
    [...counts].sort((a, b) => b - a),
  );
  assert.equal((await historyOf(undefined, 'limit=1')).kos.length, 1);
});

test('calls that failed are told with the place of the code and how often, until their knowledge object has left', async () => {
  await using telling = await startService({ args: ['--log-messages'] });
  const steering = '\u001b[2J\u202e<img src=x onerror=alert(1)>';
  const failing = javascriptKo(
    `function run(input) {\n  if (input.bad) throw Object.assign(new Error(input.bad), { name: 'InvalidInputError', status: 422 });\n` +
      `  throw new Error(${JSON.stringify(steering)} + ' of ' + input.name);\n}`,
    { naan, name: 'failing' },
  );
  await telling.serve(failing);
  for (let i = 0; i < 30; i++) assert.equal((await telling.post(pathOf(failing), { name: 'Bob Smith' })).status, 500);
  const { headers } = await telling.post(pathOf(failing), { bad: 'Bob Smith' });
  const read = async (query = '') => {
    const answer = await telling.get(`/actuator/failures?ko=${failing.id}${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer;
  };
  const answer = await read();
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.doesNotMatch(answer.text, /[\p{Cc}\p{Cf}]|Bob|Smith/u);
  const [refused = {}, failed = {}, ...others] = answer.list;
  assert.deepEqual(others, []);
  assert.deepEqual(
    [refused['code'], refused['status'], refused['message'], refused['count'], refused['executionId']],
    ['invalid-input', 422, undefined, 1, headers['kgrid-execution-id']],
  );
  const { first, last, requestId, executionId, ...rest } = failed;
  assert.deepEqual(rest, {
    ...{ ko: failing.id, endpoint: 'run', engine: 'javascript', code: 'code-error', status: 500, count: 30 },
    ...{ message: `Error: ${steering} of …`, place: 'src/index.js:3' },
  });
  assert.ok(String(first) < String(last) && String(requestId) !== '' && String(executionId) !== '');
  assert.equal((await read('&limit=1')).list.length, 1);
  await telling.delete(`/kos/${failing.id}`);
  assert.deepEqual((await read()).list, []);
});

test('a question that is none says which part of it is wrong', async () => {
  for (const [query, name] of [
    ['ko=a', 'ko'],
    ['ko=a/b/c/d', 'ko'],
    ['ko=a/b/%3Cscript%3E', 'ko'],
    ['ko=a/b/c&ko=a/b/d', 'ko'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
  ] as const) {
    for (const what of ['history', 'failures']) {
      const { status, object } = await service.get(`/actuator/${what}?${query}`);
      assert.equal(status, 400, query);
      assert.match(String(object['Detail']), new RegExp(`^${name} `));
    }
  }
});
