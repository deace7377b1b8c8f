import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inRound } from '../support/round.ts';
import { Chaos } from './support/chaos.ts';

// Three nodes, a balancer and a server of its own are too much for what each run of the tests may take.
const skip = inRound<string | false>('only in slow rounds', false);

test('whatever happens to nodes and database, each answer is one that could be given', { skip }, async (t) => {
  const seed = Number(process.env['KGRID_TEST_SEED'] ?? Date.now() % 2 ** 31);
  t.diagnostic(`seed ${String(seed)}`);
  await using chaos = await Chaos.begin(seed);
  const { problems, told } = await chaos.run(60);
  for (const line of told) t.diagnostic(line);
  assert.deepEqual(problems, []);
});
