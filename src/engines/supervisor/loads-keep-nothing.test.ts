import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, kinds } from './messages.ts';
import type { ProcessEvents } from './process.ts';
import { Pool } from './pool.ts';
import { endpointWith } from '../../../test/support/supervisor/endpoints.ts';

test('a load asks whether the code loads, and leaves nothing of it in the process that loads', async () => {
  const sent: number[] = [];
  const said: string[] = [];
  const start = (events: ProcessEvents) => {
    queueMicrotask(() => events.onFrame(kinds.ping, 0, 0, ''));
    return {
      alive: true,
      send(kind: number, number: number, b: number) {
        const slot = b >> 1;
        sent.push(kind);
        queueMicrotask(() => {
          events.onFrame(kinds.log, slot, 0, 'info\nit loads');
          if (slot % 2 === 0) events.onFrame(kinds.answer, number, answers.result, '');
          else events.onFrame(kinds.answer, number, answers.unloaded, '{"description":"Error: it is odd"}');
        });
      },
      write: () => undefined,
      kill: () => undefined,
      lowerPriority: () => undefined,
      memory: () => 0,
      processorTime: () => 0,
    };
  };
  using scheduler = new Pool({
    sandboxes: 1,
    memoryMb: 32,
    queueLimit: 10,
    start,
    conduct: { inTurn: { answer: () => ({ text: '' }), warn: () => undefined } },
  });
  const endpoints = Array.from({ length: 40 }, (_, slot) =>
    endpointWith({ slot: slot + 1, log: (_level, text) => said.push(text) }, scheduler.policy),
  );

  const problems = await Promise.all(endpoints.map((each) => scheduler.load(each)));
  for (const each of endpoints) scheduler.forget(each);

  assert.deepEqual(
    problems.map((problem) => problem === ''),
    endpoints.map(({ index }) => index % 2 === 0),
  );
  assert.equal(said.length, 40, 'what code says while it loads is heard');
  const count = (kind: number): number => sent.filter((each) => each === kind).length;
  assert.deepEqual(
    { check: count(kinds.check), load: count(kinds.define), drop: count(kinds.drop) },
    { check: 40, load: 0, drop: 0 },
  );
});
