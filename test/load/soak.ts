/**
 * Mixes single calls, batches and all else that clients do, checks every answer, and looks for what grows: `npm run test:long soak --
 * [--seconds 600] [--seed N]`. A sixth of the time is for warming up; then the service comes to rest five times, for long enough
 * to give back what it does not need, and each time must be where it was the first time.
 */
import { setTimeout as later } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { MEGABYTE } from '../hostile/support/footprint.ts';
import { assertNothingKept, Soak } from './support/soak.ts';
import type { Rest } from './support/soak.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const ROUNDS = 6;
/** The service looks each half minute whether it has rested since it looked before. */
const REST_MS = 65_000;
const round = Number(values.seconds) / ROUNDS;
const show = (rest: Rest): string =>
  `heap ${(rest.heap / MEGABYTE).toFixed(1)} MB, resident ${Math.round(rest.memory / MEGABYTE)} MB, ` +
  `with sandboxes ${Math.round(rest.treeMemory / MEGABYTE)} MB, ${rest.handles} handles, ${rest.children} children`;

console.log(`seed ${values.seed}`);
await using soak = await Soak.begin(Number(values.seed));
let first: Rest | undefined;
for (let i = 0; i < ROUNDS; i++) {
  await soak.go(round);
  await later(REST_MS);
  const rest = await soak.rest(first);
  console.log(`${soak.visits} visits: ${show(rest)}`);
  assertNothingKept((first ??= rest), rest);
}
console.log('nothing has grown');
