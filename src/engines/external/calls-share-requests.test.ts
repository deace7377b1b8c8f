import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { uptime } from '../../lib/time.ts';
import type { CallTrace } from '../engine.ts';
import { type BatchedCall, CallBatches } from './call-batches.ts';
import { RuntimeUnreachable } from './runtime-connections.ts';

/** A request on its way, to be answered by the test. */
interface Request {
  readonly inputs: string[];
  readonly count: number;
  readonly traces: readonly (CallTrace | undefined)[];
  readonly depth: number;
  readonly deadline: number;
  push(...chunks: (string | Buffer)[]): void;
  end(): void;
  break(error: Error): void;
}

function batches() {
  const requests: Request[] = [];
  const calls = new CallBatches((body, depth, deadline, traces, onChunk) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    requests.push({
      inputs: body.split('\x00'),
      count: traces.length,
      traces,
      depth,
      deadline,
      push: (...chunks) => chunks.forEach((chunk) => onChunk(Buffer.from(chunk))),
      end: resolve,
      break: reject,
    });
    return promise;
  });
  const later = uptime() + 60_000;
  return {
    requests,
    call: (input: unknown, more: Partial<BatchedCall> = {}): Promise<string> =>
      calls.call({ input: JSON.stringify(input), depth: 0, deadline: later, ...more }),
  };
}

/** The request at this place. */
function at(requests: readonly Request[], place: number): Request {
  const request = requests[place];
  assert.ok(request !== undefined, `no request ${place}`);
  return request;
}

test('calls of one turn go together, and each gets its own answer in whatever order they come', async () => {
  const { requests, call } = batches();
  const answers = [call('a'), call({ b: 1 }), call([])];
  await turn();
  assert.equal(requests.length, 1);
  const request = at(requests, 0);
  assert.deepEqual([request.inputs, request.count], [['"a"', '{"b":1}', '[]'], 3]);
  request.push('2=[2]\x00', '0="zero"\x001=null\x00');
  request.end();
  assert.deepEqual(await Promise.all(answers), ['"zero"', 'null', '[2]']);
});

test('an answer is given as soon as it is there, while others of its request are still awaited', async () => {
  const { requests, call } = batches();
  const [slow, quick] = [call('slow'), call('quick')];
  await turn();
  at(requests, 0).push('1=1\x00');
  assert.equal(await quick, '1');
  at(requests, 0).push('0=0\x00');
  assert.equal(await slow, '0');
});

test('records may be cut anywhere, in the middle of a character too', async () => {
  const bytes = Buffer.from('0={"é":"€"}\x001!500,naïve\x00');
  for (let cut = 1; cut < bytes.length; cut++) {
    const { requests, call } = batches();
    const [first, second] = [call(1), call(2)];
    await turn();
    at(requests, 0).push(bytes.subarray(0, cut), bytes.subarray(cut));
    assert.equal(await first, '{"é":"€"}');
    await assert.rejects(second, { code: 'execution-failed', message: 'Code execution error: naïve' });
  }
});

test('a failure may be told as the answer to a single call would tell it', async () => {
  const { requests, call } = batches();
  const calls = [call(0), call(1), call(2), call(3)];
  await turn();
  at(requests, 0).push(
    '0!{"status":422,"title":"Invalid Input","description":"no age"}\x00',
    '1!{"status":400,"description":"KeyError: 7","place":{"file":"src/main.py","line":3}}\x00',
    '2!{"status":503,"description":"busy"}\x00',
    '3!{not JSON\x00',
  );
  await assert.rejects(async () => calls[0], { code: 'invalid-input', status: 422, message: 'no age' });
  await assert.rejects(async () => calls[1], {
    message: 'Code execution error: KeyError: 7',
    place: { file: 'src/main.py', line: 3 },
  });
  await assert.rejects(async () => calls[2], { code: 'overloaded' });
  await assert.rejects(async () => calls[3], { code: 'execution-failed', message: 'Code execution error: {not JSON' });
});

test('two requests are on their way, and what comes meanwhile forms the next', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { requests, call } = batches();
  const answers = [call(0)];
  await turn();
  answers.push(call(1));
  await turn();
  answers.push(call(2), call(3));
  await turn();
  assert.deepEqual(
    requests.map(({ inputs }) => inputs),
    [['0'], ['1']],
  );
  at(requests, 0).push('0=0\x00');
  at(requests, 0).end();
  await turn();
  await turn();
  assert.deepEqual(at(requests, 2).inputs, ['2', '3']);
  at(requests, 1).push('0=1\x00');
  at(requests, 2).push('0=2\x001=3\x00');
  assert.deepEqual(await Promise.all(answers), ['0', '1', '2', '3']);
});

test('a request has so many calls and characters at most, but one call of any size', async () => {
  const { requests, call } = batches();
  for (let i = 0; i < 65; i++) void call(i);
  await turn();
  assert.deepEqual(
    requests.map(({ count }) => count),
    [64, 1],
  );
  const large = batches();
  void large.call('x'.repeat(300 * 1024));
  void large.call('y');
  await turn();
  assert.deepEqual(
    large.requests.map(({ inputs }) => inputs.map((each) => each.length)),
    [[300 * 1024 + 2], [3]],
  );
});

test('calls of different depth, or with much less time left, do not share a request', async () => {
  const { requests, call } = batches();
  const now = uptime();
  void call('client', { deadline: now + 30_000 });
  void call('late client', { deadline: now + 30_050 });
  await turn();
  void call('nested', { deadline: now + 30_000, depth: 1 });
  await turn();
  assert.deepEqual(
    requests.map(({ inputs, depth, deadline }) => [inputs.length, depth, deadline]),
    [
      [2, 0, now + 30_000],
      [1, 1, now + 30_000],
    ],
  );
  const hurried = batches();
  void hurried.call('patient', { deadline: now + 30_000 });
  void hurried.call('hurried', { deadline: now + 200 });
  await turn();
  assert.deepEqual(
    hurried.requests.map(({ deadline }) => deadline),
    [now + 30_000, now + 200],
  );
});

test('a call with little time left ends no other before its time', async () => {
  const now = uptime();
  const { requests, call } = batches();
  const left = [1, 2, 40, 90, 5000, 5040, 30_000];
  for (const each of left) call(each, { deadline: now + each }).catch(() => undefined);
  const sent = (): number[] => requests.flatMap(({ inputs }) => inputs.map(Number));
  for (let next = 0; sent().length < left.length; next++) {
    await turn();
    requests[next]?.end();
  }
  for (const { inputs, deadline } of requests)
    for (const input of inputs)
      assert.ok(Number(input) - (deadline - now) <= Number(input) / 20, `${input} at ${deadline - now}`);
  assert.deepEqual(sent(), left);
});

test('a request that breaks costs the calls that have no answer yet', async () => {
  const { requests, call } = batches();
  const [answered, open] = [call(1), call(2)];
  await turn();
  at(requests, 0).push('0=1\x00', '1=not fini');
  at(requests, 0).break(new RuntimeUnreachable('the runtime is gone'));
  assert.equal(await answered, '1');
  await assert.rejects(open, /the runtime is gone/);
});

test('an error has the status and the words of the runtime; a result that is not JSON is one', async () => {
  const { requests, call } = batches();
  const results = Promise.allSettled([call(1), call(2), call(3)]);
  await turn();
  at(requests, 0).push('0!400,TypeError: a, b\x00', '1!503,no free place\x00', '2={"a":\x00');
  const errors = (await results).map((each) => (each.status === 'rejected' ? (each.reason as Error).message : ''));
  assert.deepEqual(errors, [
    'Code execution error: TypeError: a, b',
    'the runtime is busy: no free place',
    'Code execution error: the result is not JSON',
  ]);
});

test('what calls are known by travels in their order, and stays small enough for headers', async () => {
  const { requests, call } = batches();
  const traces = Array.from({ length: 64 }, (_, i) => ({
    requestId: `${i}`.padEnd(128, '-'),
    traceparent: undefined,
    executionId: 'e',
  }));
  const all = traces.map((trace, i) => call(i, { trace }));
  const seen: (CallTrace | undefined)[] = [];
  for (let place = 0; seen.length < traces.length; place++) {
    while (requests[place] === undefined) await new Promise((resolve) => setImmediate(resolve));
    const request = at(requests, place);
    assert.ok(request.traces.reduce((sum, trace) => sum + (trace?.requestId.length ?? 0), 0) <= 4096);
    seen.push(...request.traces);
    for (let i = 0; i < request.count; i++) request.push(`${i}=1\0`);
    request.end();
  }
  assert.deepEqual(seen, traces);
  await Promise.all(all);
});
