import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { type Allowance, RefusalCounter, type Refusals } from './refused-requests.ts';

const MINUTE = 60_000;

function counter(t: TestContext, allowance?: Allowance): RefusedIn {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const told: Refusals<string>[] = [];
  const counted = new RefusalCounter<string>({
    tell: (refusals) => told.push(refusals),
    now: Date.now,
    ...(allowance && { allowance }),
  });
  const pass = (milliseconds: number): void => {
    for (let passed = 0; passed < milliseconds; passed += 50) t.mock.timers.tick(50);
  };
  return { counted, told, pass };
}

interface RefusedIn {
  readonly counted: RefusalCounter<string>;
  readonly told: Refusals<string>[];
  readonly pass: (milliseconds: number) => void;
}

test('a reason and address is told once at first, then once a minute, with how many there were', (t) => {
  const { counted, told, pass } = counter(t);
  counted.add('missing', '192.0.2.1', () => 'first');
  assert.deepEqual(told, [], 'nothing is told before the answer');
  pass(100);
  assert.deepEqual(told, [{ reason: 'missing', address: '192.0.2.1', first: 'first', times: 1 }]);
  for (let i = 0; i < 600; i++) {
    counted.add('missing', '192.0.2.1', () => `more ${i}`);
    pass(50);
  }
  assert.equal(told.length, 1);
  counted.add('wrong', '192.0.2.1', () => 'another reason');
  pass(100);
  assert.equal(told.length, 2, 'it waits for no other reason');
  pass(MINUTE);
  assert.deepEqual(
    told.slice(1).map(({ first, times }) => [first, times]),
    [
      ['another reason', 1],
      ['more 0', 600],
    ],
  );
  pass(2 * MINUTE);
  assert.equal(told.length, 3, 'nothing came, nothing is told');
});

test('many addresses are told as others, and none is lost', (t) => {
  const { counted, told, pass } = counter(t);
  for (let i = 0; i < 10_000; i++) counted.add('missing', `address ${i} ${'x'.repeat(1000)}`, () => 'x');
  pass(MINUTE);
  assert.equal(told.length, 65);
  assert.equal(
    told.reduce((sum, { times }) => sum + times, 0),
    10_000,
  );
  assert.equal(told.find(({ address }) => address === 'others')?.times, 10_000 - 64);
  assert.ok(told.every(({ address }) => address.length <= 64));
});

test('no more is told than is allowed, and the rest together when it is or at the stop', (t) => {
  const { counted, told, pass } = counter(t, { most: 2, every: 10 * MINUTE });
  for (let minute = 0; minute < 15; minute++) {
    counted.add('missing', '192.0.2.1', () => 'x');
    pass(MINUTE);
  }
  assert.equal(told.length, 3);
  counted[Symbol.dispose]();
  assert.equal(
    told.reduce((sum, { times }) => sum + times, 0),
    15,
  );
});
