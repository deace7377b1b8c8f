import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PrincipalLimits } from './principal-limits.ts';
import { ANONYMOUS, type Principal } from './principal.ts';

const ANN: Principal = { ...ANONYMOUS, name: 'ann', kind: 'basic' };
const BOB: Principal = { ...ANONYMOUS, name: 'bob', kind: 'basic' };

const refusalOf = (act: () => unknown): Readonly<Record<string, string>> => {
  try {
    act();
  } catch (thrown) {
    const { status, headers } = thrown as { status: number; headers: Record<string, string> };
    assert.equal(status, 429);
    return headers;
  }
  return assert.fail('it was let through');
};

test('a principal may send so many requests a second, and others are not its matter', () => {
  let now = 0;
  using limits = new PrincipalLimits({ rate: 3, calls: 0 }, () => now);
  for (let n = 2; n >= 0; n--) assert.equal(limits.take(ANN, 'a')['ratelimit'], `"principal";r=${n};t=1`);
  const headers = refusalOf(() => limits.take(ANN, 'b'));
  assert.deepEqual(
    [headers['retry-after'], headers['ratelimit-policy'], headers['ratelimit']],
    ['1', '"principal";q=3;w=1', '"principal";r=0;t=1'],
  );
  limits.take(BOB, 'a');
  now += 400;
  limits.take(ANN, 'a');
  refusalOf(() => limits.take(ANN, 'a'));
});

test('without a login each address counts by itself', () => {
  using limits = new PrincipalLimits({ rate: 1, calls: 1 }, () => 0);
  limits.take(ANONYMOUS, 'a');
  limits.take(ANONYMOUS, 'b');
  refusalOf(() => limits.take(ANONYMOUS, 'a'));
});

test('calls at once are counted until they end, each once', () => {
  using limits = new PrincipalLimits({ rate: 0, calls: 2 }, () => 0);
  const first = limits.begin(ANN, 'a');
  limits.begin(ANN, 'a');
  assert.equal(refusalOf(() => limits.begin(ANN, 'a'))['retry-after'], '1');
  first();
  first();
  limits.begin(ANN, 'a');
  refusalOf(() => limits.begin(ANN, 'a'));
  limits.begin(BOB, 'a');
});
