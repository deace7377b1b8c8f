/** How a worker of the engine `python` is started: isolated from what is installed for the Python that runs it. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../lib/errors.ts';
import type { WorkerProgram } from '../supervisor/adapter.ts';
import { workerWalls } from './confinement.ts';

export interface PythonProgramOptions {
  readonly python: Python;
  /** Megabytes. */
  readonly memoryMb: number;
  /** Bytes of a result, and of an input. */
  readonly outputLimit: number;
  readonly bodyLimit: number;
  /** Calls that run at the same time. */
  readonly concurrency: number;
  /** Of this process: what of it a worker needs is passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The folder of the programs in Python. */
export const PYTHON_PROGRAMS = join(import.meta.dirname, '../../../runtimes/python');

/** Memory that a worker shares with others, such as the files of the interpreter and of libraries, does not count. */
export const BESIDE_MEMORY_MB = 64;
/** Calls that wait for other endpoints keep their thread, and calls nest 16 deep. */
const THREADS_PER_CALL = 17;
const MAX_THREADS = 512;
/** Of calls, of what is no call, and of the file in which it counts what it has begun. */
const DESCRIPTORS = [3, 4, 5];
/** The worker writes it where it has not even memory to say more. */
const OUT_OF_MEMORY = 'the knowledge object passed its memory limit';

/** Of the variables of the service: the time zone, and what numeric libraries go by, since digits of results differ with it. */
const KEPT = [
  ...['TZ', 'LD_LIBRARY_PATH', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'OPENBLAS_CORETYPE', 'MKL_NUM_THREADS'],
  ...['MKL_CBWR', 'NPY_DISABLE_CPU_FEATURES'],
];

export function pythonWorkers(options: PythonProgramOptions): WorkerProgram {
  const { python, memoryMb, outputLimit, bodyLimit, concurrency, environment } = options;
  const limits = {
    concurrency,
    threads: Math.max(concurrency, Math.min(concurrency * THREADS_PER_CALL, MAX_THREADS)),
    memoryLimit: memoryMb * 2 ** 20,
    outputLimit,
    bodyLimit,
  };
  const kept = Object.fromEntries(
    KEPT.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  ) as Record<string, string>;
  return {
    engine: 'python',
    release: `Python ${python.version}`,
    repliesBy: 'control',
    keepsThreads: true,
    checksJson: true,
    memoryMb,
    besideMemoryMb: BESIDE_MEMORY_MB,
    saysOutOfMemory: (printed) => printed.includes(OUT_OF_MEMORY),
    command: (home) => ({
      program: python.program,
      args: [
        ...['-I', '-S', '-B', '-X', 'utf8', '-X', 'faulthandler'],
        join(PYTHON_PROGRAMS, 'kgrid_python_runtime/worker/main.py'),
        JSON.stringify({ scratch: home.scratch, descriptors: DESCRIPTORS, ...limits }),
      ],
      env: {
        ...kept,
        PATH: '/usr/local/bin:/usr/bin:/bin',
        LANG: 'C.UTF-8',
        HOME: home.scratch,
        TMPDIR: home.scratch,
        // What asks for the user's name finds it here, where the list of users cannot be read.
        LOGNAME: 'kgrid',
        MALLOC_ARENA_MAX: '2',
        // It works one after the other then, where it would start processes.
        ...(home.processes ? {} : { JOBLIB_MULTIPROCESSING: '0' }),
        ...home.network.environment,
      },
      input: '',
      walls: workerWalls(python, PYTHON_PROGRAMS, home),
      cwd: home.root,
      isWorker: true,
      countsIn: home.scratch,
    }),
  };
}

const run = promisify(execFile);

export interface Python {
  /** The interpreter, absolute. */
  readonly program: string;
  readonly version: string;
  /** Files and folders that it needs to run: itself, its standard library, and the libraries that these load. */
  readonly files: readonly string[];
  /** Folders with what is installed beside the standard library, such as pip. */
  readonly packages: readonly string[];
}

const PROBE = `import sys
assert sys.version_info >= (3, 9), "Python is " + sys.version.split()[0]
import json, os, site, sysconfig
paths = sysconfig.get_paths()
packages = {*site.getsitepackages(), paths["purelib"], paths["platlib"]}
files = {os.path.realpath(sys.executable), os.path.join(sys.prefix, "pyvenv.cfg"), sysconfig.get_config_var("LIBDIR")}
files |= {paths["stdlib"], paths["platstdlib"], *sys.path}
packages |= {each for each in files if each and each.endswith("-packages")}
print(json.dumps({
    "program": sys.executable,
    "version": sys.version.split()[0],
    "files": sorted(each for each in files - packages if each),
    "packages": sorted(packages),
}))`;

/** Why there is none, and what to do, in place of one. `environment` has the PATH. */
export async function findPython(environment: Readonly<Record<string, string>>): Promise<Python | string> {
  try {
    const { stdout } = await run('python3', ['-c', PROBE], { env: environment });
    return JSON.parse(stdout) as Python;
  } catch (thrown) {
    const found =
      (thrown as NodeJS.ErrnoException).code === 'ENOENT'
        ? 'python3 is not installed'
        : `python3 cannot be used: ${messageOf(thrown).split('\n').at(-2) ?? ''}`;
    return `${found}; install Python 3.9 or newer (Debian: apt-get install python3 python3-venv python3-pip) and start again`;
  }
}
