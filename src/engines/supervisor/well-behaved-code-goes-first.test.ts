import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from './endpoint.ts';
import { byCostEstimate } from './policy.ts';
import { POLICY, endpointWith } from '../../../test/support/supervisor/endpoints.ts';

/** One that answered so many calls, each in so many microseconds. */
function endpointThat(answered: number, microseconds: number): Endpoint {
  const endpoint = endpointWith();
  for (let i = 0; i < answered; i++) endpoint.answered(1, microseconds);
  return endpoint;
}

test('an endpoint is known after 20 good calls, and has to begin anew once it is found at fault', () => {
  const endpoint = endpointThat(19, 100);
  assert.equal(endpoint.isKnown, false);
  assert.equal(endpoint.pace, 20_000);
  endpoint.answered(1, 100);
  assert.equal(endpoint.isKnown, true);
  assert.equal(endpoint.pace, 100);
  endpoint.putOnProbation();
  endpoint.answered(19, 1900);
  assert.equal(endpoint.isKnown, false);
});

test('work that waits goes on with known code, then code of which little is known, then code known to be slow', () => {
  const slow = endpointThat(50, 60_000);
  const fresh = endpointThat(0, 0);
  const little = endpointThat(5, 100);
  const known = endpointThat(30, 100);
  const better = endpointThat(300, 100);
  const order = [slow, fresh, little, known, better].sort(byCostEstimate(POLICY));
  assert.deepEqual(order, [better, known, little, fresh, slow]);
});
