import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from '../activation/endpoint.ts';
import type { EndpointSet } from '../activation/endpoint-set.ts';
import type { Executor } from '../engines/engine.ts';
import { executionFailed, ServiceError } from '../lib/errors.ts';
import { Calls } from './calls.ts';
import type { CallInput } from './calls.ts';
import { FailedCalls } from './failed-calls.ts';
import { HeldBytes } from './held-bytes.ts';

const set = {} as EndpointSet;
const input: CallInput = {
  ...{ body: '1', text: '1', contentType: 'application/json', json: true, caller: undefined },
  trace: { requestId: 'r', traceparent: undefined, executionId: 'e' },
};

function callsOf(execute: Executor['execute'], held = new HeldBytes(1e9)) {
  const activated = Promise.withResolvers<void>();
  const executor: Executor = { execute, dispose: () => undefined };
  const endpoint = {
    ...{ id: 'a/b/1/run', ko: { id: { naan: 'a', name: 'b', version: 'v1' } }, entry: { engine: 'javascript' } },
    ready: () => undefined,
    executor: () => activated.promise.then(() => executor),
  } as unknown as Endpoint;
  const seen: [string, string, boolean][] = [];
  const log = { info: () => undefined, warn: () => undefined };
  const calls = new Calls({
    held,
    failures: new FailedCalls(log),
    observe: ({ id }, outcome, start, duration, count) =>
      seen.push([id, outcome, start > 0 && duration >= 0 && count === 1]),
  });
  return { calls, target: { endpoint, set }, activate: activated.resolve, seen };
}

test('each call is measured once, with its endpoint and how it ended', async () => {
  const answers = ['"ok"', executionFailed('broken'), new Error('of the service')];
  const { calls, target, activate, seen } = callsOf(() => {
    const answer = answers.shift();
    return typeof answer === 'string' ? Promise.resolve(answer) : Promise.reject(answer ?? new Error('none'));
  });
  activate();
  assert.equal(await calls.invoke(target, input), '"ok"');
  await assert.rejects(calls.invoke(target, input), /broken/);
  await assert.rejects(calls.invoke(target, input), /of the service/);
  assert.deepEqual(
    seen,
    ['done', 'execution-failed', 'internal'].map((outcome) => ['a/b/1/run', outcome, true]),
  );
});

test('a call whose client goes while it waits for the activation does not begin', async () => {
  let ran = 0;
  const { calls, target, activate } = callsOf(() => Promise.resolve(String(++ran)));
  const client = new AbortController();
  const call = calls.invoke(target, input, client.signal);
  client.abort();
  activate();
  await assert.rejects(call, ServiceError);
  assert.equal(ran, 0);
  assert.equal(await calls.invoke(target, input, new AbortController().signal), '1');
});

test('a call by code is run, measured and refused as any other', async () => {
  const found = new Map<string, unknown>();
  const own = { find: (id: string) => found.get(id) } as EndpointSet;
  const { calls, target, activate, seen } = callsOf(async ({ depth, scope, trace, signal, body }) => {
    if (depth === 2) return JSON.stringify([body, trace?.requestId, signal?.aborted]);
    const nested = { body: 'inner', contentType: 'text/plain', json: false, deadline: Infinity, trace, signal };
    return scope.call(depth === 0 ? 'a/b/1/run' : 'a/b/1/none', { ...nested, depth: depth + 1 });
  });
  found.set('a/b/1/run', target.endpoint);
  activate();
  await assert.rejects(
    calls.invoke({ ...target, set: own }, input, new AbortController().signal),
    (thrown: unknown) => thrown instanceof ServiceError && thrown.status === 404,
  );
  found.set('a/b/1/none', target.endpoint);
  assert.equal(await calls.invoke({ ...target, set: own }, input, new AbortController().signal), '["inner","r",false]');
  assert.deepEqual(
    seen.map(([, outcome]) => outcome),
    ['endpoint-not-found', 'endpoint-not-found', 'done', 'done', 'done'],
  );
});

test('inputs are held while their calls run, and no longer, however these end', async () => {
  const running = Promise.withResolvers<string>();
  const { calls, target, activate, seen } = callsOf(() => running.promise, new HeldBytes(250_000));
  activate();
  const large: CallInput = { ...input, body: 'x'.repeat(100_000) };
  const first = [calls.invoke(target, large), calls.invoke(target, large)];
  await assert.rejects(calls.invoke(target, large), /--max-held/);
  const small = calls.invoke(target, input);
  running.reject(executionFailed('broken'));
  for (const call of [...first, small]) await assert.rejects(call, /broken/);
  for (let i = 0; i < 5; i++) await assert.rejects(calls.invoke(target, large), /broken/);
  assert.equal(seen.filter(([, outcome]) => outcome === 'overloaded').length, 1);
});
