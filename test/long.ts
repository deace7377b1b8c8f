/**
 * `npm run test:long NAME`: runs a long ring, with further arguments for its programs; without a name it lists them.
 * `--in-turn` runs that whose turn it is at this commit, for as long as one may take there.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { FileRuns } from './support/run-files.ts';
import { lackedBy, RINGS, runsOf } from './support/rings.ts';

const PROJECT = resolve(import.meta.dirname, '..');
const TURN_MS = 15 * 60_000;
const say = (text: string): void => void process.stdout.write(text);
const [asked, ...more] = process.argv.slice(2);

if (asked === undefined) list();
else if (asked === '--in-turn') await run(inTurn(), [], TURN_MS);
else if (RINGS[asked] === undefined) {
  say(`There is no long ring ${asked}.\n`);
  list();
  process.exitCode = 1;
} else await run(asked, more);

function list(): void {
  for (const [name, { tries }] of Object.entries(RINGS)) say(`npm run test:long ${name.padEnd(18)} ${tries}\n`);
}

/** By the commit; 0 where there is none. */
function turn(): number {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: PROJECT, encoding: 'utf8', env: process.env });
  return Number.parseInt(stdout.slice(0, 8), 16) || 0;
}

function from<T>(all: readonly T[], first: number): T[] {
  return [...all.slice(first), ...all.slice(0, first)];
}

/** Names the ring whose turn it is, or the next that this machine can run. */
function inTurn(): string {
  const names = Object.keys(RINGS).filter((name) => RINGS[name]?.inTurn);
  for (const name of from(names, turn() % names.length)) {
    const lacked = lackedBy(RINGS[name] ?? { tries: '' });
    if (lacked.length === 0) return name;
    say(`The ring ${name} is left out: this machine has no ${lacked.join(', ')}.\n`);
  }
  throw new Error('This machine can run none of the rings');
}

async function run(name: string, args: readonly string[], limitMs?: number): Promise<void> {
  const ring = RINGS[name] ?? { tries: '' };
  say(`${name}: ${ring.tries}\n`);
  Object.assign(process.env, { KGRID_LONG_ROUND: '1' }, ring.env);
  const runs = new FileRuns(PROJECT, say);
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => {
      process.exitCode = 1;
      void runs.end(signal);
    });
  const timer = limitMs === undefined ? undefined : setTimeout(() => void runs.end('the end of its time'), limitMs);
  const all = runsOf(ring, PROJECT, args);
  // Where not all are reached, those that are differ from commit to commit.
  const ordered = limitMs === undefined ? all : from(all, Math.floor(turn() / 100) % all.length);
  await runs.run(ordered, ring.twoAtATime ? 2 : 1);
  clearTimeout(timer);
  say(runs.summary());
  // What its time did not reach says nothing against it.
  if (runs.failed.length > 0 || (!runs.passed && limitMs === undefined)) process.exitCode = 1;
}
