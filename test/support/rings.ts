/** The long rings: tests that take minutes, or programs that not every machine has. `npm run test:long` names them. */
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import type { TestRun } from './run-files.ts';

export interface Ring {
  /** What it tries. */
  readonly tries: string;
  /** Files that are run, each by itself, and whether two of them may run at a time. */
  readonly files?: readonly string[];
  readonly twoAtATime?: true;
  /** Programs that are run before the files, with their arguments. */
  readonly programs?: readonly (readonly string[])[];
  readonly env?: Readonly<Record<string, string>>;
  /** Programs of Debian without which it is not run in turn; where it is asked for by name it installs them. */
  readonly needs?: readonly string[];
  /** Takes part in the turns of the continuous integration: it was seen to pass whole, several times. */
  readonly inTurn?: true;
}

export const RINGS: Readonly<Record<string, Ring>> = {
  acceptance: {
    tries: 'the service over HTTP; with ACCEPTANCE_URL any that runs on this machine',
    files: ['test/acceptance/*.test.ts', 'test/access/*.test.ts'],
    twoAtATime: true,
  },
  balanced: {
    tries: 'acceptance, each request on another node of a fleet',
    programs: [['node', 'test/fleet/run-acceptance.ts']],
    needs: ['haproxy'],
  },
  'chaos-fleet': {
    tries: 'a fleet and its database to which everything happens (--seconds N, --seed N)',
    programs: [['node', 'test/fleet/chaos.ts']],
  },
  cli: { tries: 'the commands', files: ['test/cli/*.test.ts'] },
  cluster: { tries: 'the Python client on Spark and Ray', programs: [['sh', 'clients/python/cluster/run.sh']] },
  crash: {
    tries: 'processes that are killed at every step of a change, and at random',
    programs: [['node', 'test/crash/run.ts', '--rounds', '100']],
    files: ['test/crash/*.test.ts', 'src/shelf/store/survives-disk-failures.test.ts', 'test/cli/run-killed.test.ts'],
  },
  damage: {
    tries: 'archives that are damaged or hostile',
    files: ['test/archives/*.test.ts'],
    twoAtATime: true,
    inTurn: true,
  },
  documents: {
    tries: 'what the documents say and show',
    files: ['test/documents/*.test.ts', 'test/deploy/*.test.ts'],
  },
  fleet: { tries: 'several nodes', files: ['test/fleet/*.test.ts'], needs: ['haproxy', 'nginx', 'pgbouncer'] },
  hostile: {
    tries: 'code that means harm',
    files: [
      ...[
        'test/hostile/*.test.ts',
        'src/engines/javascript/*.test.ts',
        'src/engines/supervisor/frames-are-cut.test.ts',
      ],
      ...['test/acceptance/hostile-code.test.ts', 'test/runtimes/managed-workers-survive.test.ts'],
    ],
  },
  image: { tries: 'the image, built and run', files: ['test/image/*.test.ts'], needs: ['podman', 'mmdebstrap'] },
  load: {
    tries: 'much of everything, and what grows',
    files: ['test/load/*.test.ts', 'test/batches/*.test.ts', 'test/text/linear-time.test.ts'],
  },
  metrics: { tries: 'metrics as Prometheus reads them', files: ['test/metrics/*.test.ts'], needs: ['prometheus'] },
  pages: {
    tries: 'the pages in a browser, narrow and in the dark',
    files: ['test/pages/in-one-browser.test.ts'],
    needs: ['chromium'],
  },
  postgres: {
    tries: 'a shelf in PostgreSQL, also under the acceptance tests',
    files: [
      ...['src/shelf/store/postgres/*.test.ts', 'src/shelf/store/schema-is-its-own.test.ts'],
      ...['src/shelf/store/upgrade/takes-over-tables.test.ts', 'test/crash/database*.test.ts'],
      'test/acceptance/*.test.ts',
    ],
    env: { ACCEPTANCE_SHELF: 'postgres' },
  },
  'postgres-versions': {
    tries: 'the oldest and the newest PostgreSQL',
    programs: [['node', 'test/support/postgres/run-on-versions.ts']],
  },
  python: {
    tries: 'the runtime and the client in Python',
    programs: [
      ['sh', 'runtimes/python/run-tests.sh'],
      ['sh', 'clients/python/run-tests.sh'],
    ],
  },
  release: { tries: 'the package, installed on each Node', files: ['test/release/*.test.ts'] },
  runtimes: {
    tries: 'runtimes and workers, and what they install',
    files: [
      ...['test/runtimes/*.test.ts', 'test/traces/*.test.ts', 'test/validation/*.test.ts'],
      ...['runtimes/node/test/*.test.ts', 'src/engines/{supervisor,node,python}/*.test.ts'],
    ],
  },
  shutdown: { tries: 'each way to stop', files: ['test/shutdown/*.test.ts'] },
  simulation: {
    tries: 'the scheduler, through millions of simulated steps (--steps N, --seed N)',
    programs: [['node', 'test/support/supervisor/simulate.ts']],
  },
  soak: {
    tries: 'a service that is used for ten minutes (--seconds N, --seed N)',
    programs: [['node', 'test/load/soak.ts']],
  },
  walls: {
    tries: 'everything that code could try against its confinement',
    files: ['test/walls/*.test.ts'],
  },
};

/** An hour: those of a ring take longer than those of every run. */
const LIMIT_MS = 60 * 60_000;
const FOLDERS = ['/usr/sbin', '/usr/local/sbin'];

/** What of the needed programs this machine lacks. */
export const lackedBy = ({ needs = [] }: Ring): readonly string[] => {
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...FOLDERS];
  return needs.filter((program) => !folders.some((folder) => existsSync(join(folder, program))));
};

/** @param more given to each program. */
export function runsOf({ files = [], programs = [] }: Ring, project: string, more: readonly string[]): TestRun[] {
  const found = globSync([...files], { cwd: project }).sort();
  const each = [...programs, ...found.map((file) => ['node', '--test-reporter=spec', file])];
  return each.map(([program = '', ...args]) => ({
    name: args.at(-1)?.endsWith('.test.ts') === true ? (args.at(-1) ?? '') : [program, ...args].join(' '),
    program: program === 'node' ? process.execPath : program,
    args: [...args, ...(programs.length > 0 && !args.includes('--test-reporter=spec') ? more : [])],
    limitMs: LIMIT_MS,
  }));
}
