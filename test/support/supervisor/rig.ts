/** A scheduler with a clock and processes that are made up, for tests that say what happens. */
import assert from 'node:assert/strict';
import { Random } from '../random.ts';
import { FakeClock } from './fake-clock.ts';
import type { Endpoint } from '../../../src/engines/supervisor/endpoint.ts';
import { Pool } from '../../../src/engines/supervisor/pool.ts';
import { FakeSandbox } from './fake-sandbox.ts';

/** What the code of a call, or its top level, does. */
export const scriptThat = (does: string, ms: number): string => JSON.stringify({ id: 1, does, ms });
export const ANSWERS = scriptThat('answer', 1);

export class Rig implements Disposable {
  readonly clock = new FakeClock();
  readonly scheduler: Pool;
  /** Processes that live. */
  readonly living = new Set<FakeSandbox>();
  started = 0;
  /** Milliseconds for which the next frame finds no core. */
  coreDelay = 0;

  constructor(startMs: number) {
    const { clock, living } = this;
    const environment = {
      clock,
      random: new Random(1),
      start: () => startMs,
      coreDelay: () => {
        const delay = this.coreDelay;
        this.coreDelay = 0;
        return delay;
      },
      fault: (what: string) => assert.fail(what),
      onRun: () => undefined,
      onOver: () => undefined,
      onGone: (process: FakeSandbox) => void living.delete(process),
    };
    this.scheduler = new Pool({
      sandboxes: 1,
      memoryMb: 32,
      queueLimit: 10,
      start: (events) => {
        this.started++;
        const process = new FakeSandbox(environment, events);
        living.add(process);
        return process;
      },
      conduct: { inTurn: { answer: () => ({ text: '' }), warn: () => undefined } },
      clock,
    });
  }

  /** Lets the time pass; what is to happen in it happens. */
  pass(milliseconds: number): void {
    let isOver = false;
    this.clock.after(milliseconds, () => (isOver = true));
    while (!isOver) this.clock.step();
  }

  /** Milliseconds until it is answered; others may go on. */
  call(endpoint: Endpoint, script = ANSWERS): number {
    const began = this.clock.now();
    const outcome = this.submit(endpoint, script);
    while (outcome.is === undefined) assert.ok(this.clock.step(), 'it is never answered');
    assert.equal(outcome.is, '1');
    return this.clock.now() - began;
  }

  submit(endpoint: Endpoint, script: string): { is: unknown } {
    const began = this.clock.now();
    const outcome: { is: unknown } = { is: undefined };
    this.scheduler.submit(endpoint, {
      input: script,
      depth: 0,
      scope: { find: () => undefined, call: () => Promise.reject(new Error('nobody is called')) },
      beginBy: began + endpoint.limit,
      deadline: Infinity,
      caller: '',
      resolve: (result) => (outcome.is = result),
      reject: (error) => (outcome.is = error),
    });
    return outcome;
  }

  [Symbol.dispose](): void {
    this.scheduler[Symbol.dispose]();
  }
}
