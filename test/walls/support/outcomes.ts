/** What became of attempts, each in a process that it may end. */
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { isAbsolute, join } from 'node:path';
import { attempts } from '../attempts/all.ts';
import type { Attempt, Target } from './attempt.ts';
import { koffiPath } from './koffi.ts';
import type { Mode } from './modes.ts';
import { processesNamed } from './processes.ts';
import { pythonFor } from './target.ts';
import { ERRORS } from './steps.ts';
import type { Way } from './steps.ts';

/** `true`, or why not: for each way the error of its last step. */
export type Outcome = true | string;
export type Outcomes = ReadonlyMap<string, Outcome>;
export type Ways = Readonly<Record<string, readonly Way[]>>;

export interface Result {
  readonly through: boolean;
  readonly tried: readonly (readonly number[])[];
}

/** What came of a list of attempts until the process ended, if it did; `undefined` for one that it did not survive. */
export type Lines = readonly (readonly [name: string, result: Result | undefined])[];

/** Tries all of them on one target, in processes that have ended afterwards. */
export async function tryOn(target: Target, run: (ways: Ways) => Promise<Outcomes>): Promise<Outcomes> {
  const before = new Map(attempts.map((each) => [each, changedAt(each, target)]));
  const outcomes = new Map(await run(Object.fromEntries(attempts.map((each) => [idOf(each), each.ways(target)]))));
  for (const [attempt, time] of before) {
    const isUnchanged = time !== undefined && changedAt(attempt, target) === time;
    if (isUnchanged && outcomes.get(idOf(attempt)) === true) outcomes.set(idOf(attempt), 'nothing changed');
  }
  const survivors = await processesNamed(target.unique);
  for (const pid of survivors) process.kill(pid, 'SIGKILL');
  for (const attempt of attempts.filter(({ survives }) => survives))
    if (outcomes.get(idOf(attempt)) === true && survivors.length === 0) outcomes.set(idOf(attempt), 'nothing is left');
  return outcomes;
}

export const idOf = ({ aim, name }: Pick<Attempt, 'aim' | 'name'>): string => `${aim}: ${name}`;

function changedAt({ changes }: Attempt, target: Target): bigint | undefined {
  const path = changes?.(target);
  // One that lies where the attempt runs cannot be seen from here.
  return path === undefined || !isAbsolute(path) ? undefined : statSync(path, { bigint: true }).ctimeNs;
}

/** @param run runs the attempts in one process, which one of them may end. */
export async function outcomesOf(ways: Ways, run: (ways: Ways) => Promise<Lines>): Promise<Outcomes> {
  const outcomes = new Map<string, Outcome>();
  for (let left = Object.entries(ways); left.length > 0;) {
    const lines = await run(Object.fromEntries(left));
    if (lines.length === 0) throw new Error('the attempts did not begin');
    for (const [name, result] of lines) outcomes.set(name, result === undefined ? 'it was ended' : outcomeOf(result));
    left = left.filter(([name]) => !outcomes.has(name));
  }
  return outcomes;
}

export function outcomeOf({ through, tried }: Result): Outcome {
  return through || [...new Set(tried.map((results) => errorOf(results.at(-1) ?? 0)))].join(' ');
}

const NAMES = new Map(Object.entries(ERRORS).map(([name, number]) => [number, name]));
const SHOWS_NOTHING = -10_000;
const KILLED = -1000;

function errorOf(result: number): string {
  if (result === SHOWS_NOTHING) return 'empty';
  if (result <= KILLED) return `signal ${KILLED - result}`;
  return NAMES.get(-result) ?? String(result);
}

/** Runs a program that takes the attempts by standard input and prints lines. */
export const outcomesBy = (ways: Ways, [command = '', ...args]: readonly string[]): Promise<Outcomes> =>
  outcomesOf(ways, async (left) => {
    const child = spawn(command, args, { cwd: '/', stdio: ['pipe', 'pipe', 'inherit', 'pipe'] });
    child.stdin?.on('error', () => undefined).end(JSON.stringify(left));
    child.stdio[3]?.on('error', () => undefined);
    return linesOf(child.stdout === null ? '' : await text(child.stdout));
  });

/** What the kernel grants to a process that nobody holds back. */
export const bareOutcomes = (language: 'node' | 'python', ways: Ways, as: readonly string[] = []): Promise<Outcomes> =>
  outcomesBy(ways, [
    ...as,
    ...(language === 'node'
      ? [process.execPath, join(import.meta.dirname, 'bare.mjs'), koffiPath]
      : [pythonFor(as), '-B', join(import.meta.dirname, 'bare.py')]),
  ]);

/** Of the javascript sandbox. */
export const sandboxOutcomes = (mode: Mode, ways: Ways, as: readonly string[] = []): Promise<Outcomes> =>
  outcomesBy(ways, [...as, process.execPath, join(import.meta.dirname, 'run-sandbox.ts'), mode]);

/** Of a process that `run-<program>.ts` starts, which takes the mode and its own files. */
export const outcomesIn = (
  program: 'node-worker' | 'python-worker' | 'build' | 'npm',
  mode: Mode,
  { own }: Target,
  ways: Ways,
  as: readonly string[],
): Promise<Outcomes> =>
  outcomesBy(ways, [
    ...as,
    process.execPath,
    join(import.meta.dirname, `run-${program}.ts`),
    mode,
    JSON.stringify(own),
  ]);

/** A name stands alone when its attempt begins, and with its result when it is done. */
export function linesOf(printed: string): Lines {
  const results = new Map<string, Result | undefined>();
  for (const line of printed.split('\n')) {
    if (!line.startsWith('["')) continue;
    const [name, result] = JSON.parse(line) as [string, Result | null];
    results.set(name, result ?? undefined);
  }
  return [...results];
}
