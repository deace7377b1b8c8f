import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inRound } from '../support/round.ts';
import { CrashSite } from './rounds.ts';
import { killAtEveryStep, scenarios } from './scenarios.ts';

// Steps that an earlier scenario was killed at already are left to the long run, `npm run test:crash`.
const seen = new Set<string>();

const leftOut = ['an import', 'a restore of what was removed'];

for (const scenario of scenarios.filter(({ name }) => !leftOut.includes(name))) {
  test(`${scenario.name} that is killed at any of its steps leaves the old or the new, whole`, async () => {
    const fresh = (step: string): boolean => {
      const key = `${scenario.op} ${step}`;
      return !seen.has(key) && Boolean(seen.add(key));
    };
    const outcomes = await killAtEveryStep('file', scenario, fresh);
    assert.ok(outcomes.length > 2, 'it was killed at some steps');
    for (const { step, problems } of outcomes) assert.deepEqual(problems, [], `killed at "${step}"`);
  });
}

test('changes that are killed at random moments leave only what was acknowledged or begun, whole', async (t) => {
  const seed = Date.now() % 2 ** 31;
  t.diagnostic(`seed ${String(seed)}`);
  await using site = await CrashSite.create('file');
  await site.changeAt(-1, 'import');
  for (let round = 0; round < inRound(4, 10); round++) {
    await site.changeUntilKilled(seed + round, (seed + round * 7) % 30, 'ready');
    assert.deepEqual(await site.problems(), [], `round ${String(round)}`);
  }
  assert.ok(site.acknowledgements() > inRound(4, 10), 'changes were made between the kills');
});

test('the check finds what a store that writes in place leaves', async () => {
  const replacement = scenarios.find(({ name }) => name === 'a replacement');
  assert.ok(replacement);
  const outcomes = await killAtEveryStep('naive', replacement, (step) => step !== 'open file' && step !== 'write half');
  const [before, ...later] = outcomes;
  assert.deepEqual(before, { step: 'remove old package', problems: [] });
  assert.ok(later.length > 3);
  for (const { step, problems } of later) assert.ok(problems.length > 0, step);
});
