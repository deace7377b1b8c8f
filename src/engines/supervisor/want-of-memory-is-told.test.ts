import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../test/support/random.ts';
import { Tally } from '../../lib/tally.ts';
import { KILLED_FOR_MEMORY } from './process.ts';
import { FakeClock } from '../../../test/support/supervisor/fake-clock.ts';
import { sandboxEnded } from './answers.ts';
import { REMOVALS } from './calls-in-turn.ts';
import { Pool } from './pool.ts';
import { endpointWith } from '../../../test/support/supervisor/endpoints.ts';
import { FakeSandbox } from '../../../test/support/supervisor/fake-sandbox.ts';

test('a sandbox that the kernel ended for want of memory is counted as such', () => {
  const clock = new FakeClock();
  const removals = new Tally(REMOVALS);
  const living: FakeSandbox[] = [];
  const environment = {
    ...{
      clock,
      random: new Random(1),
      start: () => 10,
      coreDelay: () => 0,
      fault: (what: string) => assert.fail(what),
    },
    ...{ onRun: () => undefined, onOver: () => undefined, onGone: () => undefined },
  };
  using scheduler = new Pool({
    ...{ sandboxes: 1, memoryMb: 32, queueLimit: 10, clock },
    conduct: { inTurn: { answer: () => ({ text: '' }), warn: () => undefined, removals } },
    start: (events) => {
      const process = new FakeSandbox(environment, events);
      living.push(process);
      return process;
    },
  });
  scheduler.prepare();
  const pass = (): void => {
    let isOver = false;
    clock.after(20, () => (isOver = true));
    while (!isOver) clock.step();
  };
  pass();
  living[0]?.exit(`SIGKILL: ${KILLED_FOR_MEMORY}`);
  pass();
  assert.deepEqual(
    [...removals].filter(([, count]) => count > 0).map(([reason]) => reason),
    ['memory'],
  );
});

test('the call in it is told so, and may be tried again', () => {
  const error = sandboxEnded(endpointWith(), `SIGKILL: ${KILLED_FOR_MEMORY}`);
  assert.match(error.message, /^the kernel ended the sandbox during the call, since no memory was left/);
  assert.match(sandboxEnded(endpointWith(), 'SIGKILL').message, /ended from outside/);
});
