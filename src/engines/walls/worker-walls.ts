/** The walls of workers and installers, of what tells them apart. */
import { LIBRARIES, MACHINE, NETWORK, PROGRAMS, SYSTEM } from './needed-files.ts';
import type { ProgramFiles } from './needed-files.ts';
import type { Walls } from './walls.ts';

export interface WorkerNeeds {
  /** Of `nodeFiles` or `pythonFiles`. */
  readonly interpreter: ProgramFiles;
  /** The program of the worker, the folder of the knowledge object, and those of its packages. */
  readonly read: readonly string[];
  /** Its scratch folder. */
  readonly write: readonly string[];
  /** Ports, such as that of the activator's proxy. */
  readonly connect?: Walls['connect'];
  readonly processes?: boolean;
}

export const workerWalls = (needs: WorkerNeeds): Walls => wallsOf('worker', needs);

/**
 * Of a child that fetches packages (`connect: 'any'`) or builds one (nothing to connect to, and its code runs). It starts
 * what it needs, also from folders in which it writes.
 */
export const installerWalls = (needs: WorkerNeeds): Walls => wallsOf('installer', { ...needs, processes: true });

function wallsOf(calls: Walls['calls'], needs: WorkerNeeds): Walls {
  const { interpreter, read, write, connect = [], processes = false } = needs;
  const hasNetwork = connect === 'any' || connect.length > 0;
  return {
    read: [...interpreter.read, ...LIBRARIES, ...SYSTEM, ...MACHINE, ...(hasNetwork ? NETWORK : []), ...read],
    execute: [...interpreter.execute, ...(processes ? PROGRAMS : []), ...(calls === 'installer' ? write : [])],
    write: [...write, '/dev/null'],
    connect,
    calls,
    processes,
  };
}
