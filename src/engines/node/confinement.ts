/** What processes of the engine `node` may reach. */
import { dirname, join } from 'node:path';
import {
  LIBRARIES,
  MACHINE,
  NETWORK,
  PROGRAMS,
  SYSTEM,
  nodeFiles,
  packagesAbove,
} from '../../confinement/needed-files.ts';
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

export interface NpmStep {
  /** `fetch`: with the network, and without code of packages. `build`: the other way round. */
  readonly kind: 'fetch' | 'build';
  /** What is started: the file of npm. */
  readonly npm: string;
  /** In which packages are installed; its `package.json` is there. */
  readonly folder: string;
  /** The cache of npm; a knowledge object whose scripts run has its own. */
  readonly cache: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Variables by which npm is told of files. */
const NAMES_FILES = /^(NPM_CONFIG_(\w*CONFIG|CAFILE|PREFIX)|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+)$/i;
/** Headers and tools of compilers. */
const FOR_BUILDS = ['/usr/include', '/usr/share', '/usr/local/include', '/etc/alternatives'];

export function npmWalls({ kind, npm, folder, cache, environment }: NpmStep): Walls {
  const node = nodeFiles();
  // That of the package: the file lies in `bin` there.
  const own = dirname(dirname(npm));
  const common = [...node.read, ...LIBRARIES, ...SYSTEM, ...MACHINE, own, ...packagesAbove(npm)];
  const both = {
    execute: [...node.execute, ...PROGRAMS, ...(kind === 'build' ? [folder, cache] : [])],
    write: [folder, cache, '/dev/null'],
    calls: 'installer',
    processes: true,
  } as const;
  if (kind === 'build') return { ...both, read: [...common, ...FOR_BUILDS], connect: [] };
  const home = environment['HOME'];
  const settings = [
    '/etc/npmrc',
    '/usr/etc/npmrc',
    '/usr/local/etc/npmrc',
    ...(home === undefined ? [] : [join(home, '.npmrc')]),
  ];
  const named = Object.entries(environment).flatMap(([name, value]) => (NAMES_FILES.test(name) ? [value] : []));
  return { ...both, read: [...common, ...NETWORK, ...settings, ...named], connect: 'any' };
}
