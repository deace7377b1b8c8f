/**
 * Kills a process that changes a shelf, at random moments and at every step, and checks what it leaves:
 * `node test/crash/run.ts [--rounds 100] [--seed N]`.
 */
import { parseArgs } from 'node:util';
import { CrashSite } from './rounds.ts';
import { killAtEveryStep, scenarios } from './scenarios.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const rounds = Number(values.rounds);
let failures = 0;

function report(what: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  failures++;
  console.log(`FAILED ${what}`);
  for (const problem of problems) console.log(`  ${problem}`);
}

console.log(`seed ${values.seed}`);
for (const scenario of scenarios) {
  const outcomes = await killAtEveryStep('file', scenario);
  for (const { step, problems } of outcomes) report(`${scenario.name}, killed at "${step}"`, problems);
  console.log(`${scenario.name}: killed at ${String(outcomes.length)} steps`);
}

await using site = await CrashSite.create('file');
await site.changeAt(-1, 'import');
for (let round = 0; round < rounds; round++) {
  const seed = Number(values.seed) + round;
  const atStart = round % 5 === 0;
  await site.changeUntilKilled(
    seed,
    atStart ? 60 + ((seed * 37) % 120) : (seed * 7919) % 40,
    atStart ? 'spawn' : 'ready',
  );
  report(`round ${String(round)}`, await site.problems());
}
console.log(
  `killed ${String(rounds)} times at random: ${String(site.acknowledgements())} changes were acknowledged, ` +
    `${String(site.interruptions)} kills left something to remove`,
);

let found = 0;
const naiveRounds = Math.ceil(rounds / 10);
for (let round = 0; round < naiveRounds; round++) {
  await using naive = await CrashSite.create('naive', site.cache);
  await naive.changeUntilKilled(Number(values.seed) + round, 5 + ((round * 7919) % 40), 'ready');
  if ((await naive.problems()).length > 0) found++;
}
console.log(`a store that writes in place was found corrupt after ${String(found)} of ${String(naiveRounds)} kills`);
if (found === 0) report('the check finds nothing', ['a store that writes in place passed every round']);

console.log(failures === 0 ? 'the shelf was whole after every kill' : `${String(failures)} rounds failed`);
process.exitCode = failures === 0 ? 0 : 1;
