/** How a worker of the engine `node` is started: in the Node that runs this, with what V8 and Node can refuse refused. */
import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { getCompileCacheDir } from 'node:module';
import { basename, extname, join } from 'node:path';
import type { Kernel } from '../../confinement/walls.ts';
import type { WorkerHome, WorkerProgram } from '../supervisor/adapter.ts';
import { codeOf } from '../supervisor/packages/errors.ts';
import { programText } from '../supervisor/program-text.ts';
import { workerWalls } from './confinement.ts';

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

export interface ProgramFiles {
  /** The module to start. */
  readonly main: string;
  /** The folder that a worker must be able to read. */
  readonly folder: string;
}

const WORKER = new URL('../../../runtimes/node/worker/', import.meta.url);
/** The second is the program of a thread. */
const MAINS = ['main', 'watchdog'].map((name) => new URL(`${name}${extname(import.meta.url)}`, WORKER).href);
const imports = /from '(\.{1,2}\/[\w./-]+\.(?:ts|mjs))'/g;
const moduleName = (path: string): string => `${basename(path, extname(path))}.mjs`;

export async function prepareProgram(cacheDir: string): Promise<ProgramFiles> {
  const text = JSON.parse(programText(MAINS, getCompileCacheDir())) as readonly (readonly [
    url: string,
    code: string,
  ])[];
  const modules = text.map(([url, code]) => ({
    name: moduleName(url),
    // All lie in one folder then.
    code: code.replace(imports, (_, path: string) => `from './${moduleName(path)}'`),
  }));
  const digest = createHash('sha256').update(JSON.stringify(modules)).digest('hex').slice(0, 32);
  const folder = join(cacheDir, `program-${digest}`);
  const program = { main: join(folder, 'main.mjs'), folder };
  // Another process on this cache folder may put the same program there at the same time.
  for (let tries = 0; !(await isWhole(folder, modules)); tries++) {
    if (tries === mostTries)
      throw new Error('The program of the workers does not stay as it was put into the cache folder');
    await put(modules, folder, join(cacheDir, 'staging', `program-${process.pid}-${randomUUID()}`));
  }
  return program;
}

interface Module {
  readonly name: string;
  readonly code: string;
}

const mostTries = 5;

/** What lies there is moved away first, whatever it is: nobody has put it there who may. */
async function put(modules: readonly Module[], folder: string, staging: string): Promise<void> {
  try {
    await mkdir(join(staging, 'new'), { recursive: true });
    for (const { name, code } of modules) await writeFile(join(staging, 'new', name), code, { flush: true });
    await rename(folder, join(staging, 'old')).catch(unless('ENOENT'));
    await rename(join(staging, 'new'), folder).catch(unless('ENOTEMPTY', 'EEXIST', 'ENOTDIR'));
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

const unless =
  (...codes: string[]) =>
  (error: unknown): void => {
    if (!codes.includes(codeOf(error) ?? '')) throw error;
  };

/** Whether exactly these files are there, each with its own contents. */
async function isWhole(folder: string, modules: readonly Module[]): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  if (names.length !== modules.length) return false;
  const same = modules.map(async ({ name, code }) => {
    const file = join(folder, name);
    return (await lstat(file)).isFile() && (await readFile(file, 'utf8')) === code;
  });
  return (await Promise.all(same).catch(() => [false])).every(Boolean);
}
