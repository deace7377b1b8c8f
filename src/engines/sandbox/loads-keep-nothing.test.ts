import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECK, DROP, LOAD, LOADED, LOG, READY } from './protocol.ts';
import type { ProcessEvents } from '../supervisor/process.ts';
import { Scheduler } from './scheduler.ts';
import { endpointWith } from './support/endpoints.ts';

test('a load asks whether the code loads, and leaves nothing of it in the process that loads', async () => {
  const sent: number[] = [];
  const said: string[] = [];
  const start = (events: ProcessEvents) => {
    queueMicrotask(() => events.onFrame(READY, 0, 0, ''));
    return {
      alive: true,
      send(kind: number, slot: number) {
        sent.push(kind);
        queueMicrotask(() => {
          events.onFrame(LOG, slot, 0, 'info\nit loads');
          events.onFrame(LOADED, slot, 1, slot % 2 === 0 ? '' : 'Error: it is odd');
        });
      },
      kill: () => undefined,
      lowerPriority: () => undefined,
      memory: () => 0,
      processorTime: () => 0,
    };
  };
  using scheduler = new Scheduler({
    sandboxes: 1,
    memoryMb: 32,
    queueLimit: 10,
    start,
    answer: () => ({ text: '' }),
    warn: () => undefined,
  });
  const endpoints = Array.from({ length: 40 }, (_, slot) =>
    endpointWith({ slot: slot + 1, log: (_level, text) => said.push(text) }, scheduler.policy),
  );

  const problems = await Promise.all(endpoints.map((each) => scheduler.load(each)));
  for (const each of endpoints) scheduler.forget(each);

  assert.deepEqual(
    problems.map((problem) => problem === ''),
    endpoints.map(({ slot }) => slot % 2 === 0),
  );
  assert.equal(said.length, 40, 'what code says while it loads is heard');
  const count = (kind: number): number => sent.filter((each) => each === kind).length;
  assert.deepEqual({ check: count(CHECK), load: count(LOAD), drop: count(DROP) }, { check: 40, load: 0, drop: 0 });
});
