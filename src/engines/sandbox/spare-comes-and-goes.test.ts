import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../test/support/random.ts';
import type { Endpoint } from './endpoint.ts';
import { Scheduler } from './scheduler.ts';
import { POLICY, endpointWith } from './support/endpoints.ts';
import { FakeClock } from '../supervisor/support/fake-clock.ts';
import { FakeSandbox } from './support/fake-sandbox.ts';

const START_MS = 300;
/** Without work, until the spare goes. */
const REST_MS = POLICY.idleUntilAsleepMs + POLICY.spareIdleMs;
const SCRIPT = JSON.stringify({ id: 1, does: 'answer', ms: 1 });

class Rig implements Disposable {
  readonly clock = new FakeClock();
  readonly scheduler: Scheduler;
  /** Processes that live. */
  readonly living = new Set<FakeSandbox>();
  started = 0;

  constructor() {
    const { clock, living } = this;
    const environment = {
      clock,
      random: new Random(1),
      start: () => START_MS,
      coreDelay: () => 0,
      fault: (what: string) => assert.fail(what),
      onRun: () => undefined,
      onOver: () => undefined,
      onGone: (process: FakeSandbox) => void living.delete(process),
    };
    this.scheduler = new Scheduler({
      sandboxes: 1,
      memoryMb: 32,
      queueLimit: 10,
      start: (events) => {
        this.started++;
        const process = new FakeSandbox(environment, events);
        living.add(process);
        return process;
      },
      answer: () => ({ text: '' }),
      warn: () => undefined,
      clock,
    });
  }

  /** Lets the time pass; what is to happen in it happens. */
  pass(milliseconds: number): void {
    let isOver = false;
    this.clock.after(milliseconds, () => (isOver = true));
    while (!isOver) this.clock.step();
  }

  /** Milliseconds until it is answered. */
  call(endpoint: Endpoint): number {
    const began = this.clock.now();
    let outcome: unknown;
    this.scheduler.submit(endpoint, {
      input: SCRIPT,
      depth: 0,
      scope: { find: () => undefined, call: () => Promise.reject(new Error('nobody is called')) },
      beginBy: began + endpoint.limit,
      deadline: Infinity,
      caller: '',
      resolve: (result) => (outcome = result),
      reject: (error) => (outcome = error),
    });
    while (outcome === undefined) assert.ok(this.clock.step(), 'it is never answered');
    assert.equal(outcome, '1');
    return this.clock.now() - began;
  }

  [Symbol.dispose](): void {
    this.scheduler[Symbol.dispose]();
  }
}

const endpoint = (slot: number): Endpoint => endpointWith({ slot, loadText: SCRIPT });

test('there is no process before there is code, and one for calls once there is', () => {
  using rig = new Rig();
  rig.pass(100_000);
  assert.equal(rig.started, 0);
  rig.scheduler.prepare();
  rig.scheduler.prepare();
  rig.pass(START_MS);
  assert.equal(rig.living.size, 1);
});

test('the spare goes after a rest and comes with the next call, which does not wait for it', () => {
  using rig = new Rig();
  rig.scheduler.prepare();
  rig.pass(START_MS);
  for (let round = 1; round <= 3; round++) {
    // Of code that nobody knows yet, and then of code that is known.
    assert.ok(rig.call(endpoint(round)) < START_MS / 2, 'the first call waits for the spare');
    assert.equal(rig.living.size, 2);
    assert.ok(rig.call(endpoint(round)) < START_MS + 100);
    rig.pass(REST_MS - 1000);
    assert.equal(rig.living.size, 2, 'the spare goes too early');
    rig.pass(2000);
    assert.equal(rig.living.size, 1, 'the spare stays');
  }
  assert.equal(rig.started, 4);
});

test('a call in the last moment of a rest keeps the spare', () => {
  using rig = new Rig();
  rig.scheduler.prepare();
  rig.pass(START_MS);
  rig.call(endpoint(1));
  rig.pass(REST_MS - 500);
  rig.call(endpoint(1));
  rig.pass(REST_MS - 1000);
  assert.equal(rig.living.size, 2);
});

test('a process for calls that ends during a rest is replaced, and there is no more than that', () => {
  using rig = new Rig();
  rig.scheduler.prepare();
  rig.pass(START_MS);
  rig.call(endpoint(1));
  rig.pass(REST_MS + 1000);
  for (const process of rig.living) process.exit('SIGKILL');
  rig.pass(1000);
  assert.equal(rig.living.size, 1);
  assert.ok(rig.call(endpoint(1)) < START_MS / 2);
});

test('where no code was ever called, a call that comes at once waits for its process only', () => {
  using rig = new Rig();
  rig.scheduler.prepare();
  assert.ok(rig.call(endpoint(1)) <= START_MS + 50);
});
