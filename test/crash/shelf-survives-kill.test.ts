import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStoredShelf } from '../../src/shelf/store/open-stored-shelf.ts';
import { filesOf, put } from '../conformance/shelf-packages.ts';
import { temporaryFolder } from '../conformance/temporary-folder.ts';
import { inRound } from '../support/round.ts';
import { checkShelf } from './check-shelf.ts';
import { CrashSite } from './rounds.ts';
import { copyAtSteps, killAtEveryStep, scenarios } from './scenarios.ts';

const ROUNDS = inRound(3, 10);
/** A process for each step in the slow ring, and for the changes at random moments in every run. */
const atSteps = inRound(copyAtSteps, killAtEveryStep);
/** Each step in the slow ring, and a sample in every run. */
const SAMPLED = inRound(4, 1);
const isSampled = (_: string, index: number): boolean => index % SAMPLED === 0;

for (const scenario of scenarios) {
  test(`${scenario.name} that is killed at any of its steps leaves the old or the new, whole`, async () => {
    const outcomes = await atSteps('file', scenario, isSampled);
    assert.ok(outcomes.length > 1, 'it was killed at some steps');
    for (const { step, problems } of outcomes) assert.deepEqual(problems, [], `killed at "${step}"`);
  });
}

test('a first start that is killed at any of its steps is followed by one that takes packages', async () => {
  await using folder = await temporaryFolder();
  const shelf = join(folder.path, 'shelf');
  const copies: string[] = [];
  let steps = 0;
  const copied = await openStoredShelf(shelf, {
    onStep(step) {
      if (!isSampled(step, steps++)) return;
      const copy = join(folder.path, `copy-${copies.length}`);
      cpSync(shelf, copy, { recursive: true });
      copies.push(copy);
    },
  });
  await copied[Symbol.asyncDispose]();
  assert.ok(copies.length > 2, 'it was killed at some steps');
  for (const copy of copies) {
    await using again = await openStoredShelf(copy);
    await put(again, 'a/b/v1', filesOf('a/b/v1', {}));
    assert.deepEqual(checkShelf(copy).problems, []);
    assert.equal((await again.list()).length, 1);
  }
});

test('changes that are killed at random moments leave only what was acknowledged or begun, whole', async (t) => {
  const seed = Date.now() % 2 ** 31;
  t.diagnostic(`seed ${String(seed)}`);
  await using site = await CrashSite.create('file');
  await site.changeAt(-1, 'import');
  for (let round = 0; round < ROUNDS; round++) {
    await site.changeUntilKilled(seed + round, (seed + round * 7) % 30, 'ready');
    assert.deepEqual(await site.problems(), [], `round ${String(round)}`);
  }
  assert.ok(site.acknowledgements() > ROUNDS, 'changes were made between the kills');
});

test('the check finds what a store that writes in place leaves', async () => {
  const replacement = scenarios.find(({ name }) => name === 'a replacement');
  assert.ok(replacement);
  const outcomes = await atSteps('naive', replacement, (step) => step !== 'open file' && step !== 'write half');
  const [before, ...later] = outcomes;
  assert.deepEqual(before, { step: 'remove old package', problems: [] });
  assert.ok(later.length > 3);
  for (const { step, problems } of later) assert.ok(problems.length > 0, step);
});
