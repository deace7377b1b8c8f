import { test } from 'node:test';
import { inRound } from '../support/round.ts';
import { assertNothingKept, Soak } from './support/soak.ts';

test('the service keeps nothing of what clients did', async (t) => {
  const seed = Date.now() % 2 ** 31;
  t.diagnostic(`seed ${seed}`);
  await using soak = await Soak.begin(seed, inRound(3, 8));
  await soak.go(inRound(0.25, 3));
  const before = await soak.rest();
  await soak.go(inRound(0.25, 6));
  assertNothingKept(before, await soak.rest(before));
  t.diagnostic(`${soak.visits} visits`);
});
