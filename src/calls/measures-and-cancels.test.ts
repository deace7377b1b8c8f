import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from '../activation/endpoint.ts';
import type { EndpointSet } from '../activation/endpoint-set.ts';
import type { Executor } from '../engines/engine.ts';
import { executionFailed, ServiceError } from '../lib/errors.ts';
import { Calls } from './calls.ts';
import type { CallInput } from './calls.ts';
import { FailedCalls } from './failed-calls.ts';

const set = {} as EndpointSet;
const input: CallInput = {
  ...{ body: '1', text: '1', contentType: 'application/json', json: true, caller: undefined },
  trace: { requestId: 'r', traceparent: undefined },
};

function callsOf(execute: Executor['execute']) {
  const activated = Promise.withResolvers<void>();
  const executor: Executor = { execute, dispose: () => undefined };
  const endpoint = {
    ...{ id: 'a/b/1/run', ko: { id: { naan: 'a', name: 'b', version: 'v1' } }, entry: { engine: 'javascript' } },
    ready: () => undefined,
    executor: () => activated.promise.then(() => executor),
  } as unknown as Endpoint;
  const seen: [string, string, boolean][] = [];
  const log = { info: () => undefined, warn: () => undefined };
  const calls = new Calls(new FailedCalls(log), (route, outcome, start, duration) =>
    seen.push([route, outcome, start > 0 && duration >= 0]),
  );
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
