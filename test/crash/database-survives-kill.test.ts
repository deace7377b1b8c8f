import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { inRound } from '../support/round.ts';
import { testDatabase } from '../support/postgres/shared.ts';
import { CrashSite } from './rounds.ts';
import { killAtEveryStep, scenariosOfPackages } from './scenarios.ts';

const database = await testDatabase();
after(() => database[Symbol.asyncDispose]());
// In the short round the one that takes most steps, before those that follow a write and at the end.
const short = ['a replacement'];
const isWanted = inRound(
  (step: string) => /^BEGIN|\.ko |\.retained |\.state|\.audit |COMMIT|^after/.test(step),
  () => true,
);

for (const scenario of scenariosOfPackages.filter(({ name }) => inRound(short.includes(name), true)))
  test(`${scenario.name} in a database that is killed at any of its steps leaves the old or the new, whole`, async () => {
    const outcomes = await killAtEveryStep('postgres', scenario, isWanted, database.url);
    assert.ok(outcomes.length > inRound(4, 5), 'it was killed at some steps');
    for (const { step, problems } of outcomes) assert.deepEqual(problems, [], `killed at "${step}"`);
  });

test('changes of a database that are killed at random moments leave only what was acknowledged or begun, whole', async (t) => {
  const seed = Date.now() % 2 ** 31;
  t.diagnostic(`seed ${String(seed)}`);
  await using site = await CrashSite.create('postgres', undefined, database.url);
  await site.changeAt(-1, 'import');
  for (let round = 0; round < inRound(2, 30); round++) {
    await site.changeUntilKilled(seed + round, (seed + round * 7) % 30, 'ready');
    assert.deepEqual(await site.problems(), [], `round ${String(round)}`);
  }
  assert.ok(site.acknowledgements() > 1, 'changes were made between the kills');
});
