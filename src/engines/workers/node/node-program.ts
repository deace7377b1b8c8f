/** How a worker of the engine `node` is started: in the Node that runs this, with what V8 and Node can refuse refused. */
import type { WorkerProgram } from '../worker-program.ts';
import type { ProgramFiles } from './program-files.ts';

export interface NodeProgramOptions {
  readonly files: ProgramFiles;
  /** Megabytes of heap. */
  readonly memoryMb: number;
  /** Bytes of a result. */
  readonly outputLimit: number;
  /** Under the permission model of Node. */
  readonly permissions: boolean;
  /** What the code sees as its environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What the process needs beside the heap: Node itself, the young generation, code. */
const BESIDE_HEAP_MB = 150;

export const nodeWorkers = (options: NodeProgramOptions): WorkerProgram => ({
  engine: 'node',
  repliesBy: 'data',
  checksJson: true,
  memoryMb: options.memoryMb,
  besideMemoryMb: BESIDE_HEAP_MB,
  saysOutOfMemory: (printed) => printed.includes('JavaScript heap out of memory'),
  command: ({ root, folders, scratch, network, processes }) => ({
    program: process.execPath,
    args: [
      ...(options.permissions ? permissions([options.files.folder, ...folders], scratch, processes) : []),
      '--disable-warning=PERM0006',
      '--disable-sigusr1',
      `--max-old-space-size=${options.memoryMb}`,
      options.files.main,
      String(options.outputLimit),
    ],
    env: { NODE_ENV: 'production', TMPDIR: scratch, ...options.environment, ...network.environment },
    input: '',
    cwd: root,
    isWorker: true,
  }),
});

const permissions = (readable: readonly string[], scratch: string, processes: boolean): string[] => [
  '--permission',
  '--allow-worker',
  ...(processes ? ['--allow-child-process'] : []),
  // Both write files past the permission model, which does not know of them. Frozen flags end the process of who
  // changes one, should there be a way beside those that `restrict.ts` closes.
  '--no-experimental-sqlite',
  '--freeze-flags-after-init',
  ...[...readable, scratch].map((folder) => `--allow-fs-read=${folder}/`),
  `--allow-fs-write=${scratch}/`,
];
