import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killSandboxes } from './support/killing.ts';

test('sandboxes that are killed every 200 ms cost some calls a 503 and nothing else', async (t) => {
  const { statuses, killed } = await killSandboxes(4, 10);
  t.diagnostic(`${killed} were killed: ${JSON.stringify(statuses)}`);
  assert.ok(killed >= 10, `${killed} were killed`);
});
