/** What time a file of tests takes, and what processor time with all that it starts. Preloaded into its process, this tells it at the end. */
import { appendFileSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** The variable that names the file to which each process adds a line. */
export const LIST = 'KGRID_TEST_TIMES';
/** Of the kernel, a second. */
const TICKS = 100;

interface Spent {
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly began: number;
  readonly ended: number;
  /** Seconds: of the process, and of its children that have ended. */
  readonly own: number;
  readonly children: number;
}

const file = process.argv[1] ?? '';
const list = process.env[LIST];
if (isMainThread && list !== undefined && /\.test\.(ts|mjs)$/.test(file))
  process.on('exit', () =>
    appendFileSync(
      list,
      `${JSON.stringify({ file, began: performance.timeOrigin, ended: Date.now(), ...spentHere() })}\n`,
    ),
  );

function spentHere(): Pick<Spent, 'own' | 'children'> {
  // From `state` on, which is field 3: utime, stime, cutime, cstime are the fields 14 to 17.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  const [user = 0, system = 0, ofChildren = 0, systemOfChildren = 0] = fields.slice(11, 15).map(Number);
  return { own: (user + system) / TICKS, children: (ofChildren + systemOfChildren) / TICKS };
}

/** A line for each file, the one that takes most first, and their sum. */
export function timesTable(lines: string): string {
  const all = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Spent)
    .sort((a, b) => b.own + b.children - a.own - a.children);
  const first = Math.min(...all.map(({ began }) => began));
  const row = (seconds: readonly number[], name: string): string =>
    `${seconds.map((each) => each.toFixed(2).padStart(8)).join('')}  ${name}\n`;
  const sum = (of: 'own' | 'children'): number => all.reduce((total, each) => total + each[of], 0);
  return [
    'Seconds of processor time: all, of the process, of what it started; and from when to when in the run\n',
    ...all.map(({ own, children, began, ended, file: name }) =>
      row([own + children, own, children, (began - first) / 1000, (ended - first) / 1000], name),
    ),
    row([sum('own') + sum('children'), sum('own'), sum('children')], 'all files'),
  ].join('');
}
