/** Simulates for millions of steps: `node simulate.ts [--steps N] [--seed N]`. A fault tells the seed that leads to it. */
import { parseArgs } from 'node:util';
import { Simulation } from './simulation.ts';

const STEPS_PER_SEED = 20_000;
const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '5000000' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
  },
});
const [steps, first] = [Number(values.steps), Number(values.seed)];
console.log(`from seed ${first}`);
const sum = { steps: 0, calls: 0, answered: 0, refused: 0, failed: 0, nested: 0, processes: 0, reloads: 0 };
for (let seed = first; sum.steps < steps; seed++) {
  const report = await new Simulation(seed).run(Math.min(STEPS_PER_SEED, steps));
  for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += report[name];
}
console.log(JSON.stringify(sum));
