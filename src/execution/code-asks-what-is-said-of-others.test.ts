import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EndpointSet } from '../activation/endpoint-set.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { CallScope } from '../engines/engine.ts';
import { Calls } from './calls.ts';
import { FailedCalls } from './failed-calls.ts';
import { HeldBytes } from './held-bytes.ts';

test('in the scope of a call, what the service says of an active endpoint is told, and of no other', async () => {
  const scopes: CallScope[] = [];
  const endpoint = {
    id: 'a/b/1.0/run',
    name: 'run',
    apiVersion: '1.0',
    entry: { engine: 'x', method: 'post' },
    ko: { id: { naan: 'a', name: 'b', version: '1.0' }, key: 'a/b/1.0', atId: 'a/b/1.0' },
    ready: () => ({
      execute: ({ scope }: { scope: CallScope }) => {
        scopes.push(scope);
        return Promise.resolve('1');
      },
    }),
  } as unknown as Endpoint;
  const set = new EndpointSet([endpoint], []);
  const calls = new Calls({
    held: new HeldBytes(1e9),
    failures: new FailedCalls({ info: () => undefined, warn: () => undefined }),
    observe: () => undefined,
    describe: ({ id }) => JSON.stringify({ '@id': id }),
  });
  const input = {
    body: '1',
    text: '1',
    contentType: 'application/json',
    json: true,
    trace: undefined,
    caller: undefined,
  };
  await calls.invoke({ endpoint, set }, input);
  assert.equal(await scopes[0]?.describe?.('a/b/1.0/run'), '{"@id":"a/b/1.0/run"}');
  assert.equal(await scopes[0]?.describe?.('a/b/1.0/walk'), undefined);
});
