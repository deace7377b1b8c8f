import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Bench, BenchCase } from './bench.ts';

export interface Options extends Omit<Bench, 'folder' | 'signal' | 'progress'> {
  readonly help: boolean;
  readonly cases: readonly BenchCase[];
  /** File for the figures of every round. */
  readonly json: string | undefined;
}

/** @throws Error that names the option and what is allowed. */
export function readOptions(args: readonly string[], known: readonly BenchCase[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', default: false },
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      before: { type: 'string' },
      options: { type: 'string' },
      kos: { type: 'string' },
      records: { type: 'string' },
      json: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
  });
  const { help, quick, only, json, before, options = '' } = values;
  return {
    help,
    quick,
    json,
    before: before === undefined ? undefined : resolve(before),
    options: options.split(/\s+/).filter((each) => each !== ''),
    kos: values.kos?.split(',').map((text) => count('--kos', text.trim(), 100_000)),
    records: values.records?.split(',').map((text) => count('--records', text.trim(), 100_000_000)),
    cases: only === undefined ? known : only.split(',').map((name) => caseOf(name.trim(), known)),
    rounds: count('--rounds', values.rounds ?? (quick ? '1' : '5')),
    seconds: count('--seconds', values.seconds ?? (quick ? '1' : '5')),
  };
}

export const helpText = (known: readonly BenchCase[]): string => `Measures the service beside bare servers, with wrk.

Usage: npm run bench -- [options]

Calls are measured with the processor time of the service and of what it started, for each request.

  --only NAME,…   These cases alone
  --rounds N      How often each thing is measured (default 5)
  --seconds S     Length of one measurement (default 5)
  --quick         One round of one second, with fewer knowledge objects: to see that it runs
  --kos N,…       How many knowledge objects scale has on the shelf, at most 100000 (default 1,100,1000,10000)
  --records N,…   How many records batch-memory also sends, at most 100000000
  --before DIR    Also measures the service of another working copy, in pairs: what a change gained
  --options 'TEXT'  Also measures the service with these options, in pairs: what a feature costs
  --json FILE     Also writes the figures of every round

Cases:
${known.map(({ name, about }) => `  ${name.padEnd(15)} ${about}`).join('\n')}
`;

function caseOf(name: string, known: readonly BenchCase[]): BenchCase {
  const found = known.find((each) => each.name === name);
  if (found !== undefined) return found;
  throw new Error(`--only ${name} is no case: choose of ${known.map((each) => each.name).join(', ')}`);
}

function count(option: string, text: string, most = 9999): number {
  if (/^[1-9]\d{0,8}$/.test(text) && Number(text) <= most) return Number(text);
  throw new Error(`${option} ${text} must be a whole number from 1 to ${most}`);
}
