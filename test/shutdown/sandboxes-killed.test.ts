import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inRound } from '../support/round.ts';
import { killSandboxes } from './support/killing.ts';

const LEAST = inRound(4, 10);

test('sandboxes that are killed every 200 ms cost some calls a 503 and nothing else', async (t) => {
  const { statuses, killed } = await killSandboxes(inRound(0.8, 4), LEAST);
  t.diagnostic(`${killed} were killed: ${JSON.stringify(statuses)}`);
  assert.ok(killed >= LEAST, `${killed} were killed`);
});
