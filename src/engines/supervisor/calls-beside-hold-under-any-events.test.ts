/** The pool with calls that run beside each other, with a clock and programs that are made up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../test/support/random.ts';
import { endpointWith } from '../../../test/support/supervisor/endpoints.ts';
import { FakeClock } from '../../../test/support/supervisor/fake-clock.ts';
import { Tally } from '../../lib/tally.ts';
import { WORKER_LOSSES, WorkerLosses } from './calls-beside.ts';
import { FrameReader } from './frames.ts';
import { answers, kinds } from './messages.ts';
import { policyFor } from './policy.ts';
import { Pool } from './pool.ts';
import type { ProcessEvents, Sandbox } from './process.ts';
import { WaitingWork } from './waiting-work.ts';
import { workerPolicy } from './worker-policy.ts';
import { Worker } from './worker.ts';

const SEEDS = 40;
const CALLS = 60;
const LIMIT_MS = 3000;
const AT_ONCE = 4;

/** A program that begins what it is given in its order, until it drains or ends. */
class FakeProgram implements Sandbox {
  alive = true;
  readonly #clock: FakeClock;
  readonly #random: Random;
  readonly #events: ProcessEvents;
  readonly #onBegin: (call: string) => void;
  readonly #reader = new FrameReader((kind, a, _b, text) => this.#take(kind, a, text));
  readonly #inbox: Buffer[] = [];
  #isUp = false;
  #isDrained = false;
  #last = 0;

  constructor(clock: FakeClock, random: Random, events: ProcessEvents, onBegin: (call: string) => void) {
    this.#clock = clock;
    this.#random = random;
    this.#events = events;
    this.#onBegin = onBegin;
    // A start may take longer than a call has time, or fail.
    const startMs = random.chance(0.2) ? random.between(2000, 30_000) : random.between(5, 200);
    clock.after(startMs, () => {
      if (!this.alive) return;
      if (random.chance(0.1)) return this.#end('exit code 1');
      this.#isUp = true;
      this.#say(kinds.ping, 0, 0, '');
      for (const bytes of this.#inbox.splice(0)) this.#reader.push(bytes);
    });
  }

  send(): void {
    assert.fail('a frame of calls that run one after the other');
  }

  write(bytes: Buffer, by: 'data' | 'control' = 'data'): void {
    // Each of its sockets keeps the order.
    this.#clock.after(by === 'data' ? 2 : 0, () => {
      if (!this.alive) return;
      if (this.#isUp) this.#reader.push(bytes);
      else this.#inbox.push(bytes);
    });
  }

  kill(): void {
    this.#end('SIGKILL');
  }

  lowerPriority(): void {
    assert.ok(this.#isUp, 'the priority of a program is lowered before it is up');
  }

  memory(): number {
    return 1;
  }

  processorTime(): number {
    return 0;
  }

  #take(kind: number, number: number, text: string): void {
    if (!this.alive) return;
    if (kind === kinds.drain) {
      this.#isDrained = true;
      return this.#say(kinds.drain, this.#last, 0, '');
    }
    if (kind === kinds.ping && this.#random.chance(0.8)) return this.#say(kinds.ping, 0, 0, '');
    if ((kind !== kinds.call && kind !== kinds.load) || this.#isDrained) return;
    this.#last = number;
    if (kind === kinds.call) this.#onBegin(text);
    const what = this.#random.between(0, 99);
    const after = (action: () => void): void => this.#clock.after(this.#random.between(0, 400), action);
    if (what < 5) after(() => this.#end('exit code 1'));
    else if (what < 10) return;
    else if (what < 30) after(() => this.#say(kinds.answer, number, answers.thrown, '{"description":"thrown"}'));
    else after(() => this.#say(kinds.answer, number, answers.result, text === '' ? 'true' : text));
  }

  #say(kind: number, a: number, b: number, text: string): void {
    if (this.alive) this.#events.onFrame(kind, a, b, text);
  }

  #end(reason: string): void {
    if (!this.alive) return;
    this.alive = false;
    const last = this.#last;
    this.#clock.after(this.#random.between(0, 30), () => this.#events.onExit(reason, last));
  }
}

async function simulate(seed: number): Promise<void> {
  const clock = new FakeClock();
  const random = new Random(seed);
  const begun = new Set<string>();
  const policy = { ...policyFor(1), hasHelpers: false, largeCharacters: Infinity };
  const endpoint = endpointWith({ slot: 0, oneByOne: true, limit: LIMIT_MS }, policy);
  let stopTicking: (() => void) | undefined;
  const pool = new Pool({
    ...{ sandboxes: 1, memoryMb: 32, queueLimit: 1000, clock, policy },
    wake: () => (stopTicking ??= clock.every(25, () => pool.look())),
    start: (events) =>
      new FakeProgram(clock, random, events, (call) => {
        assert.ok(!begun.has(call), `seed ${seed}: call ${call} begins twice`);
        begun.add(call);
      }),
    conduct: {
      beside: {
        ...{ callsAtOnce: AT_ONCE, repliesBy: 'data', keepsThreads: false, maxFrameBytes: 1e6, figures: workerPolicy },
        ...{ memoryMb: 32, besideMemoryMb: 32, losses: new WorkerLosses(new Tally(WORKER_LOSSES)) },
        ...{ printed: () => undefined, saysOutOfMemory: () => false, onGone: () => undefined, onLost: () => undefined },
        clean: (text) => text,
      },
    },
  });
  const outcomes = new Map<number, number>();
  const came = new Map<number, number>();
  let loads = 0;
  const settle = (id: number): void => {
    outcomes.set(id, (outcomes.get(id) ?? 0) + 1);
    const took = clock.now() - (came.get(id) ?? 0);
    assert.ok(took <= LIMIT_MS + 100, `seed ${seed}: call ${id} is answered after ${took} ms`);
  };
  for (let id = 1; id <= CALLS; id++)
    clock.after(random.between(1, 6000), () => {
      came.set(id, clock.now());
      if (random.chance(0.1)) {
        loads++;
        void pool.load(endpoint, endpoint, clock.now() + LIMIT_MS).then(() => loads--);
      }
      if (random.chance(0.1)) for (const worker of pool.workers) void pool.retire(worker);
      pool.submit(endpoint, {
        ...{
          input: String(id),
          depth: 0,
          deadline: clock.now() + LIMIT_MS,
          beginBy: clock.now() + LIMIT_MS,
          caller: '',
        },
        scope: { find: () => undefined, call: () => Promise.reject(new Error('nobody is called')) },
        limitMs: LIMIT_MS,
        resolve: () => settle(id),
        reject: () => settle(id),
      });
    });
  let isOver = false;
  clock.after(60_000, () => (isOver = true));
  while (!isOver) {
    clock.step();
    await Promise.resolve();
  }
  for (let id = 1; id <= CALLS; id++) assert.equal(outcomes.get(id), 1, `seed ${seed}: call ${id}`);
  assert.ok(endpoint.counts.isNothing, `seed ${seed}: counts`);
  stopTicking?.();
}

async function simulateAll(): Promise<void> {
  for (let seed = 1; seed <= SEEDS; seed++) await simulate(seed);
}

test('each call is answered once, in time, and runs once at most, whatever programs do', simulateAll);

test('the simulation finds it when what had not begun is forgotten', async (t) => {
  t.mock.method(WaitingWork.prototype, 'takeBack', () => undefined);
  await assert.rejects(simulateAll, /call \d+/);
});

test('the simulation finds it when what had begun is given back', async (t) => {
  const take = Reflect.get(Worker.prototype, 'takeUnbegun');
  t.mock.method(Worker.prototype, 'takeUnbegun', function (this: Worker) {
    return take.call(this, 0);
  });
  await assert.rejects(simulateAll, /begins twice/);
});
