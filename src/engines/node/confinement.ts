/** What processes of the engine `node` may reach. */
import { LIBRARIES, MACHINE, NETWORK, PROGRAMS, SYSTEM, nodeFiles } from '../../confinement/needed-files.ts';
import type { Walls } from '../../confinement/walls.ts';
import type { WorkerHome } from '../supervisor/adapter.ts';

/** What much-used packages read of a system. */
const OF_SYSTEM = ['/etc/os-release', '/usr/lib/os-release', '/etc/mime.types', '/usr/share/fonts', '/etc/fonts'];

const everywhere = (): string[] => [...nodeFiles().read, ...SYSTEM, ...LIBRARIES, ...MACHINE, ...OF_SYSTEM];

type Home = Pick<WorkerHome, 'root' | 'folders' | 'scratch' | 'network' | 'processes'>;

/** @param own files and folders of the program of the workers. */
export function workerWalls(own: readonly string[], { root, folders, scratch, network, processes }: Home): Walls {
  const { ports, files } = network;
  return {
    read: [...everywhere(), ...own, ...[root, ...folders], ...(ports.length > 0 ? NETWORK : []), ...files],
    execute: [...nodeFiles().execute, ...(processes ? PROGRAMS : [])],
    write: [scratch, '/dev/null'],
    connect: ports,
    calls: 'worker',
    processes,
  };
}
