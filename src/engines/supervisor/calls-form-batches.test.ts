import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uptime } from '../../lib/time.ts';
import type { CallScope } from '../engine.ts';
import type { Endpoint } from './endpoint.ts';
import { endpointWith } from '../../../test/support/supervisor/endpoints.ts';
import { type CallParts, PendingCall, Work } from './work.ts';

const SCOPE: CallScope = { find: () => undefined, call: () => Promise.reject(new Error('nothing is called')) };

function endpointOf(count: number, { freshContext = false, quick = true } = {}): Endpoint {
  const endpoint = endpointWith({ oneByOne: freshContext });
  if (quick) endpoint.answered(1, 10);
  for (let i = 0; i < count; i++) endpoint.queue.push(call(endpoint, i));
  return endpoint;
}

const call = (endpoint: Endpoint, input: unknown, more: Partial<CallParts> = {}): PendingCall =>
  new PendingCall(endpoint, {
    input: JSON.stringify(input),
    depth: 0,
    scope: SCOPE,
    beginBy: 0,
    deadline: Infinity,
    caller: '',
    resolve: () => undefined,
    reject: () => undefined,
    ...more,
  });

/** One that was in a sandbox that ended. */
function interrupted(endpoint: Endpoint, input: unknown): PendingCall {
  const made = call(endpoint, input);
  const work = Work.ofCalls(endpoint, [made]);
  work.send();
  work.requeue(uptime());
  return made;
}

const sizesOf = (endpoint: Endpoint, alone = false): number[] => {
  const sizes: number[] = [];
  while (endpoint.queue.length > 0) sizes.push(endpoint.take(alone, uptime()).length);
  return sizes;
};

test('calls of quick code go 32 together', () => {
  assert.deepEqual(sizesOf(endpointOf(70)), [32, 32, 6]);
  assert.deepEqual(endpointOf(0).take(false, uptime()), []);
});

test('code that never ran, fresh contexts and the probation take one call at a time', () => {
  assert.deepEqual(sizesOf(endpointOf(3, { quick: false })), [1, 1, 1]);
  assert.deepEqual(sizesOf(endpointOf(3, { freshContext: true })), [1, 1, 1]);
  assert.deepEqual(sizesOf(endpointOf(3), true), [1, 1, 1]);
});

test('the slower the code, the smaller the batch, so that it ends long before it counts as stuck', () => {
  const endpoint = endpointOf(0, { quick: false });
  endpoint.answered(10, 50_000);
  for (let i = 0; i < 9; i++) endpoint.queue.push(call(endpoint, i));
  assert.deepEqual(sizesOf(endpoint), [4, 4, 1], '5 ms each');
  const slow = endpointOf(0, { quick: false });
  slow.answered(1, 30_000);
  slow.queue.push(call(slow, 1), call(slow, 2));
  assert.deepEqual(sizesOf(slow), [1, 1]);
});

test('calls that were interrupted before, of another depth, deadline or set, or with much to read, do not join', () => {
  const endpoint = endpointOf(0);
  const other: CallScope = { find: () => undefined, call: () => Promise.reject(new Error('nothing is called')) };
  endpoint.queue.push(
    call(endpoint, 1),
    interrupted(endpoint, 2),
    call(endpoint, 3),
    call(endpoint, 4, { depth: 1 }),
    call(endpoint, 5, { scope: other }),
    call(endpoint, 6, { deadline: 9 }),
  );
  assert.deepEqual(sizesOf(endpoint), [1, 1, 1, 1, 1, 1]);
  const large = endpointOf(0);
  for (let i = 0; i < 3; i++) large.queue.push(call(large, 'x'.repeat(60_000)));
  large.queue.push(call(large, 1));
  assert.deepEqual(sizesOf(large), [2, 2]);
});

test('quick answers lead out of probation, and each return takes twice as many', () => {
  const endpoint = endpointOf(0);
  const answersUntilOut = (): number => {
    endpoint.putOnProbation();
    for (let answers = 1; answers < 2000; answers++) {
      endpoint.answered(1, 100);
      if (!endpoint.onProbation) return answers;
    }
    return assert.fail('it never comes out');
  };
  const returns = Array.from({ length: 12 }, answersUntilOut);
  const [first = 0] = returns;
  assert.deepEqual(
    returns,
    returns.map((_, i) => Math.min(1000, first * 2 ** i)),
  );
});

test('slow answers keep code on probation, and code that calls out stays', () => {
  const endpoint = endpointOf(0);
  endpoint.putOnProbation();
  for (let i = 0; i < 50; i++) {
    endpoint.answered(1, 100);
    endpoint.answered(1, 60_000);
  }
  assert.ok(endpoint.onProbation);
  const calls = endpointOf(0);
  calls.callsOut = true;
  calls.putOnProbation();
  for (let i = 0; i < 2000; i++) calls.answered(1, 100);
  assert.ok(calls.onProbation);
});

test('a call with little time left ends no other before its time', () => {
  const endpoint = endpointOf(0);
  const now = uptime();
  for (const left of [1, 2, 3000, 3090, 3300]) endpoint.queue.push(call(endpoint, left, { deadline: now + left }));
  assert.deepEqual(sizesOf(endpoint), [1, 1, 2, 1]);
});
