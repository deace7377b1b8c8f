/** The scheduler with a clock and with processes that are made up; `npm run test:long simulation` goes on for longer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { FakeSandbox } from '../../../test/support/supervisor/fake-sandbox.ts';
import { Simulation } from '../../../test/support/supervisor/simulation.ts';
import { ProcessGroups } from '../javascript/process-groups.ts';
import { Endpoint } from './endpoint.ts';
import { Worker } from './worker.ts';
import { Probation } from './exclusive-workers.ts';
import { WaitingWork } from './waiting-work.ts';
import { PendingCall } from './work.ts';
import { Work } from './work.ts';

const STEPS = 8_000;
const FIRST_SEED = 1;
/** The simulation of `npm run test:long simulation` goes on where these end. */
const ROUND = 5;
/** In which each fault must be found. */
const SEEDS = 12;

test('each call is answered once, and in time, whatever processes do', async (t) => {
  let steps = 0;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + ROUND; seed++) steps += (await new Simulation(seed).run(STEPS)).steps;
  t.diagnostic(`seeds ${FIRST_SEED} to ${FIRST_SEED + ROUND - 1}, ${steps} steps`);
});

test('the same seed gives the same events', async () => {
  const [one, other] = [await new Simulation(7).run(STEPS), await new Simulation(7).run(STEPS)];
  assert.deepEqual(one, other);
});

const originalOf = <T extends object, K extends keyof T>(prototype: T, name: K): T[K] => Reflect.get(prototype, name);

/** How the machine is broken, and what is to be seen of it. */
const faults: Readonly<Record<string, { found: RegExp; how: (t: TestContext) => void }>> = {
  'calls that began are not put back': {
    found: /counts|has waited for|not so after/,
    how: (t) => {
      t.mock.method(WaitingWork.prototype, 'tryAlone', (work: Work) => void work.requeue(1));
    },
  },
  'work behind the one at fault is forgotten': {
    found: /counts|has waited for|not so after/,
    how: (t) => {
      t.mock.method(Worker.prototype, 'takeUnbegun', function (this: Worker) {
        this.open.splice(1);
        return [];
      });
    },
  },
  'a call is settled twice': {
    found: /is settled by the work that has it, and once/,
    how: (t) => {
      const settle = originalOf(Work.prototype, 'settle');
      t.mock.method(Work.prototype, 'settle', function (this: Work, ...each: Parameters<typeof settle>) {
        settle.apply(this, each);
        settle.apply(this, each);
      });
    },
  },
  'a call that has called out runs again': {
    found: /must not run twice/,
    how: (t) => {
      t.mock.getter(Work.prototype, 'calledOut', () => false);
    },
  },
  'the machine itself forgets that a call has called out': {
    found: /runs again after it called out/,
    how: (t) => {
      t.mock.method(Work.prototype, 'ask', () => undefined);
    },
  },
  'nothing begins after an answer': {
    found: /had no turn|not so after|has waited for|counts|answers no call/,
    how: (t) => {
      t.mock.method(WaitingWork.prototype, 'giveOutAfter', () => undefined);
      t.mock.method(WaitingWork.prototype, 'giveOut', () => undefined);
    },
  },
  'a call is given to two processes': {
    found: /not in a queue cannot be taken|runs twice|in its queue, and counts/,
    how: (t) => {
      const take = originalOf(Endpoint.prototype, 'take');
      t.mock.method(Endpoint.prototype, 'take', function (this: Endpoint, ...each: Parameters<typeof take>) {
        const calls = take.apply(this, each);
        const [first] = calls;
        if (first !== undefined && first.attempts > 0) this.queue.push(first);
        return calls;
      });
    },
  },
  'a call in its queue is given up, and stays there': {
    found: /not in a queue cannot be/,
    how: (t) => {
      const giveUp = originalOf(PendingCall.prototype, 'giveUp');
      t.mock.method(PendingCall.prototype, 'giveUp', function (this: PendingCall, error: Error) {
        giveUp.call(this, error);
        giveUp.call(this, error);
      });
    },
  },
  'the probation starts as many processes as it likes': {
    found: /processes live/,
    how: (t) => {
      const nextCall = originalOf(Probation.prototype, 'nextCall');
      t.mock.method(Probation.prototype, 'nextCall', function (this: Probation) {
        this.workers.start(5);
        return nextCall.call(this);
      });
    },
  },
  'a group of knowledge objects is ended under its calls': {
    found: /hears of a stop that is none/,
    how: (t) => {
      const release = originalOf(ProcessGroups.prototype, 'release');
      t.mock.method(ProcessGroups.prototype, 'release', function (this: ProcessGroups<Disposable>, key: string) {
        release.call(this, key);
        release.call(this, key);
      });
    },
  },
  'nobody hears of the end of a load': {
    found: /loads have not ended|not so after|counts/,
    how: (t) => {
      t.mock.method(Work.prototype, 'endLoad', () => undefined);
    },
  },
  'a process that is ended is not killed': {
    found: /outlive|processes live|runs again|runs twice|while it runs|after it was answered|odd/,
    how: (t) => {
      t.mock.method(FakeSandbox.prototype, 'kill', () => undefined);
    },
  },
};

for (const [what, { found, how }] of Object.entries(faults)) {
  test(`the simulation finds it when ${what}`, async (t) => {
    how(t);
    const run = async (): Promise<void> => {
      for (let seed = 1; seed <= SEEDS; seed++) await new Simulation(seed).run(STEPS);
    };
    await assert.rejects(run, { name: 'Fault', message: found });
  });
}
