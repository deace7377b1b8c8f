/** How a worker of the engine `node` is started: in the Node that runs this, with what V8 and Node can refuse refused. */
import type { Kernel } from '../../confinement/walls.ts';
import type { WorkerHome, WorkerProgram } from '../supervisor/adapter.ts';
import { workerWalls } from './confinement.ts';
import type { ProgramFiles } from './program-files.ts';

export interface NodeProgramOptions {
  readonly files: ProgramFiles;
  /** Megabytes of heap. */
  readonly memoryMb: number;
  /** Bytes of a result. */
  readonly outputLimit: number;
  /** Under the permission model of Node. */
  readonly permissions: boolean;
  /** Of what its walls are made, where there are any. */
  readonly kernel?: Kernel;
  /** Native addons of all knowledge objects; where it is left out, of those that may load them. */
  readonly addons?: 'all' | 'none';
  /** What the code sees as its environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What the process needs beside the heap: Node itself, the young generation, code. */
export const BESIDE_HEAP_MB = 150;

export const nodeWorkers = (options: NodeProgramOptions): WorkerProgram => ({
  engine: 'node',
  release: `Node ${process.version}`,
  checksJson: true,
  memoryMb: options.memoryMb,
  besideMemoryMb: BESIDE_HEAP_MB,
  saysOutOfMemory: (printed) => printed.includes('JavaScript heap out of memory'),
  command: (home) => ({
    program: process.execPath,
    args: [
      ...(options.permissions ? permissions(options, home) : []),
      ...['--disable-warning=PERM0006', '--disable-warning=PERM0001'],
      '--disable-sigusr1',
      `--max-old-space-size=${options.memoryMb}`,
      options.files.main,
      String(options.outputLimit),
      ...[mayLoadAddons(options, home) ? '' : addonsSetting(options, home), ...koffiOf(options)],
    ],
    env: {
      ...{ NODE_ENV: 'production', HOME: home.scratch, TMPDIR: home.scratch },
      ...options.environment,
      ...home.network.environment,
    },
    input: '',
    cwd: home.root,
    isWorker: true,
    countsIn: home.scratch,
    walls: workerWalls([options.files.folder, ...koffiOf(options)], home),
  }),
});

/** The program hides itself by it, since an exec would take that back. */
const koffiOf = ({ kernel }: NodeProgramOptions): string[] => (kernel?.koffi === undefined ? [] : [kernel.koffi]);

const mayLoadAddons = ({ addons }: NodeProgramOptions, home: WorkerHome): boolean =>
  addons === undefined ? home.addons === true : addons === 'all';

const addonsSetting = ({ addons }: NodeProgramOptions, { ko }: WorkerHome): string =>
  addons === undefined ? `--allow-addons ${ko.slice(0, ko.lastIndexOf('/'))}` : 'KGRID_NODE_ALLOW_ADDONS=true';

const permissions = (options: NodeProgramOptions, home: WorkerHome): string[] => [
  '--permission',
  '--allow-worker',
  // For the file of koffi before any code of others: then the permission is dropped, unless the code has it too.
  ...(koffiOf(options).length > 0 || mayLoadAddons(options, home) ? ['--allow-addons'] : []),
  ...(home.processes ? ['--allow-child-process'] : []),
  // Both write files past the permission model, which does not know of them. Frozen flags end the process of who
  // changes one, should there be a way beside those that `restrict.ts` closes.
  '--no-experimental-sqlite',
  '--freeze-flags-after-init',
  // Native code reads past it, and the JavaScript around looks for it in many places; what is open is for the kernel to say.
  ...(mayLoadAddons(options, home)
    ? ['--allow-fs-read=*']
    : [options.files.folder, ...home.folders, home.scratch].map((folder) => `--allow-fs-read=${folder}/`)),
  // Looked for by what chooses an addon: refused, it would hide which addon that is.
  '--allow-fs-read=/etc/alpine-release',
  `--allow-fs-write=${home.scratch}/`,
];
