/** `npm run test:long chaos-fleet [-- --seconds 600 --seed N]`: everything happens to three nodes and their database, and every answer is checked. */
import { parseArgs } from 'node:util';
import { Chaos } from './support/chaos.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
console.log(`seed ${values.seed}`);
await using chaos = await Chaos.begin(Number(values.seed), (problem) => console.log(problem));
const { problems, told } = await chaos.run(Number(values.seconds));
for (const line of [...told, ...problems]) console.log(line);
console.log(problems.length === 0 ? 'every answer was one that could be given' : `${String(problems.length)} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
