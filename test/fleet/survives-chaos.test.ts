import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Chaos } from './support/chaos.ts';

test('whatever happens to nodes and database, each answer is one that could be given', async (t) => {
  const seed = Number(process.env['KGRID_TEST_SEED'] ?? Date.now() % 2 ** 31);
  t.diagnostic(`seed ${String(seed)}`);
  await using chaos = await Chaos.begin(seed);
  const { problems, told } = await chaos.run(60);
  for (const line of told) t.diagnostic(line);
  assert.deepEqual(problems, []);
});
