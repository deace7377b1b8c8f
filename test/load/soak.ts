/**
 * Mixes single calls, batches and all else that clients do, checks every answer, and looks for what grows: `npm run test:soak -- [--seconds 600] [--seed N]`. A tenth of the time is for warming up; then
 * the service comes to rest ten times, and each time must be where it was the first time.
 */
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
const round = Number(values.seconds) / 11;
const show = (rest: Rest): string =>
  `heap ${(rest.heap / MEGABYTE).toFixed(1)} MB, resident ${Math.round(rest.memory / MEGABYTE)} MB, ` +
  `with sandboxes ${Math.round(rest.treeMemory / MEGABYTE)} MB, ${rest.handles} handles, ${rest.children} children`;

console.log(`seed ${values.seed}`);
await using soak = await Soak.begin(Number(values.seed));
await soak.go(round);
const first = await soak.rest();
console.log(`warm: ${show(first)}`);
for (let i = 1; i <= 10; i++) {
  await soak.go(round);
  const rest = await soak.rest(first);
  console.log(`${soak.visits} visits: ${show(rest)}`);
  assertNothingKept(first, rest);
}
console.log('nothing has grown');
