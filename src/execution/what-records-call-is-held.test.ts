import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from '../activation/endpoint.ts';
import type { EndpointSet } from '../activation/endpoint-set.ts';
import { Calls } from './calls.ts';
import { FailedCalls } from './failed-calls.ts';
import { HeldBytes } from './held-bytes.ts';

test('what a batch calls is held once, from its first call to the end of the batch', async () => {
  let holds = 0;
  let held = 0;
  const endpoint = {
    id: 'a/b/1/run',
    entry: { engine: 'javascript' },
    ready: () => ({ execute: () => Promise.resolve('1'), dispose: () => undefined }),
    hold: () => {
      holds++;
      held++;
      return { [Symbol.dispose]: () => void held-- };
    },
  } as unknown as Endpoint;
  const set = { find: (id: string) => (id === endpoint.id ? endpoint : undefined) } as unknown as EndpointSet;
  const calls = new Calls({
    held: new HeldBytes(1e9),
    failures: new FailedCalls({ info: () => undefined, warn: () => undefined }),
    observe: () => undefined,
  });
  const call = { body: '1', contentType: 'application/json', json: true, deadline: Infinity, depth: 1 };
  {
    using scope = calls.holdingScope(set);
    assert.equal(holds, 0);
    for (let i = 0; i < 3; i++) assert.equal(await scope.call(endpoint.id, call), '1');
    assert.equal(scope.find('a/b/1/other'), undefined);
    assert.deepEqual([holds, held], [1, 1]);
  }
  assert.deepEqual([holds, held], [1, 0]);
});
