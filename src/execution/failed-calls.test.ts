import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import type { Endpoint } from '../activation/endpoint.ts';
import { executionFailed, invalidInput, malformedRequest, overloaded } from '../lib/errors.ts';
import { FailedCalls } from './failed-calls.ts';
import type { Tells } from './failed-calls.ts';

const endpointOf = (name: string): Endpoint =>
  ({
    id: `a/${name}/1.0/run`,
    name: 'run',
    ko: { id: { naan: 'a', name, version: 'v1' } },
    entry: { engine: 'python' },
  }) as Endpoint;

function failures(tells: Tells = { messages: true }) {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { base: null, timestamp: false, formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const failed = new FailedCalls(log, tells);
  const trace = { requestId: 'r', traceparent: undefined, executionId: 'e' };
  const note = (thrown: unknown, name = 'b'): void =>
    failed.note(thrown, { endpoint: endpointOf(name), trace, input: '{"age":173}', json: true });
  return { lines, note, failed };
}

const of = (name: string) => ({ ko: `a/${name}/v1`, endpoint: `a/${name}/1.0/run`, engine: 'python' });

test('an error of the service itself leaves a line here, and its cause where it becomes an answer', () => {
  const { lines, note } = failures();
  note(new RangeError('Invalid string length'));
  assert.deepEqual(lines, [
    {
      level: 'warn',
      event: 'call-failed',
      ...of('b'),
      requestId: 'r',
      executionId: 'e',
      msg: 'the service failed to run a call',
    },
  ]);
});

test('each endpoint has its own measure of lines, and what is beyond it is counted', () => {
  const { lines, note, failed } = failures();
  for (let i = 0; i < 1000; i++) note(overloaded('busy'), 'flood');
  note(overloaded('busy'), 'other');
  const before = lines.length;
  failed[Symbol.dispose]();
  failed[Symbol.dispose]();
  assert.equal(lines[before - 1]?.['ko'], 'a/other/v1');
  const { more, ...summary } = lines[before] ?? {};
  assert.equal(before - 1 + Number(more), 1000);
  assert.deepEqual(summary, {
    level: 'warn',
    event: 'calls-failed',
    ...of('flood'),
    msg: `${String(more)} more calls failed within 10 s`,
  });
  assert.equal(lines.length, before + 1);
});

const groupsOf = (failed: FailedCalls): unknown[] =>
  failed.groups.latest().map(({ id, code, message, place, count }) => [id.name, code, message, place, count]);

test('calls that fail alike are counted together, the last first, with nothing of their inputs', () => {
  const { note, failed } = failures();
  const place = { file: 'src/main.py', line: 12 };
  for (let i = 0; i < 60; i++) note(executionFailed('ValueError: 173 is too much', { place }));
  for (let i = 0; i < 3; i++) note(invalidInput(`173 is too much ${i}`, 422));
  note(executionFailed('ValueError: 173 is too much', { place: { ...place, line: 13 } }));
  note(malformedRequest('not JSON: 173'));
  note(new RangeError('173'), 'c');
  assert.deepEqual(groupsOf(failed), [
    ['c', 'internal', 'the service failed to run a call', undefined, 1],
    ['b', 'execution-failed', 'ValueError: … is too much', 'src/main.py:13', 1],
    ['b', 'invalid-input', undefined, undefined, 3],
    ['b', 'execution-failed', 'ValueError: … is too much', 'src/main.py:12', 60],
  ]);
  failed[Symbol.dispose]();
  const open = failures({ inputs: true });
  open.note(invalidInput('173 is too much'));
  assert.deepEqual(groupsOf(open.failed), [['b', 'invalid-input', '173 is too much', undefined, 1]]);
  open.failed[Symbol.dispose]();
});

test('code that says something else each time takes its own room only, and costs little', () => {
  const { note, failed } = failures();
  note(overloaded('busy'), 'early');
  for (let i = 0; i < 5000; i++) note(executionFailed(`it is ${'x'.repeat(i % 90)}${i}`), 'flood');
  const groups = failed.groups.latest();
  assert.equal(groups.length, 51);
  // Also those that nobody had time to read.
  assert.ok(groups.reduce((sum, { id, count }) => sum + (id.name === 'flood' ? count : 0), 0) > 4500);
  assert.equal(groups.at(-1)?.id.name, 'early');
  for (let i = 0; i < 600; i++) note(overloaded('busy'), `k${i}`);
  assert.equal(failed.groups.latest().length, 500);
  failed[Symbol.dispose]();
});

test('what has left is forgotten', async () => {
  const { note, failed } = failures();
  note(overloaded('busy'), 'stay');
  note(overloaded('busy'), 'leave');
  await failed.groups.keepOnly(({ name }) => Promise.resolve(name === 'stay'));
  assert.deepEqual(
    failed.groups.latest().map(({ id }) => id.name),
    ['stay'],
  );
  failed[Symbol.dispose]();
});
