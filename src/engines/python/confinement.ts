/** What processes of the engine `python` may reach. */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LIBRARIES, MACHINE, NETWORK, SYSTEM } from '../../confinement/needed-files.ts';
import type { Walls } from '../../confinement/walls.ts';
import type { WorkerHome } from '../supervisor/adapter.ts';
import type { Python } from './program.ts';
import type { InstallStep } from './install-steps.ts';

/** What starts programs that are linked dynamically. */
const LOADERS = [
  '/lib64/ld-linux-x86-64.so.2',
  '/lib/ld-linux-aarch64.so.1',
  '/lib/ld-musl-x86_64.so.1',
  '/lib/ld-musl-aarch64.so.1',
];
/** What the standard library and much-used packages read of a system, and fail over where it is there and closed. */
const OF_SYSTEM = [
  ...['/etc/mime.types', '/usr/share/fonts', '/etc/fonts', '/etc/ssl/openssl.cnf', '/usr/lib/ssl'],
  ...['/etc/os-release', '/usr/lib/os-release', '/etc/lsb-release', '/etc/debian_version'],
];
/** Compilers, for packages with code that is not Python. */
const TOOLS = ['/usr/bin', '/bin', '/usr/local/bin', '/usr/lib', '/lib', '/usr/libexec', '/usr/local/lib'];
/** Variables by which pip is told of files. */
const NAMES_FILES = /^(PIP_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE)$/;

const everywhere = ({ files }: Python): string[] => [...files, ...SYSTEM, ...LIBRARIES, ...MACHINE, ...OF_SYSTEM];

/** `programs`: folder of the program of the workers. */
export function workerWalls(python: Python, programs: string, home: WorkerHome): Walls {
  const { ports, files } = home.network;
  return {
    read: [...everywhere(python), programs, home.root, ...home.folders, ...(ports.length > 0 ? NETWORK : []), ...files],
    execute: [...interpreter(python), ...(home.processes ? TOOLS : [])],
    write: [home.scratch, '/dev/null'],
    connect: ports,
    calls: 'worker',
    processes: home.processes,
  };
}

/** In which the installer writes: what goes on, and what is installed. */
export const installerFolders = (cache: string): string[] =>
  ['installing', 'installs'].map((name) => join(cache, name));

/** The installer runs no code of packages, but reads what that has left. */
export const installerWalls = (python: Python, programs: string, cache: string): Walls => ({
  read: [...everywhere(python), ...python.packages, programs, join(cache, 'objects')],
  execute: interpreter(python),
  write: [...installerFolders(cache), '/dev/null'],
  connect: [],
  calls: 'installer',
  processes: false,
});

/** What fetches has the network and the settings of pip, what builds has compilers; each writes in its own folder. */
export function stepWalls(python: Python, programs: string, step: InstallStep, cache: string): Walls {
  const installed = join(cache, 'installs');
  const common = [...everywhere(python), ...python.packages, programs, installed];
  const both = { calls: 'installer', processes: true } as const;
  if (step.kind === 'build')
    return {
      read: [...common, '/usr/include', '/usr/share', '/usr/local/include'],
      execute: [...interpreter(python), ...TOOLS, installed],
      write: [step.work, '/dev/null'],
      connect: [],
      ...both,
    };
  const { HOME: home, PIP_CACHE_DIR: pipCache } = step.environment;
  const ofUser = home === undefined ? [] : ['.netrc', '.pip', '.config/pip'].map((path) => join(home, path));
  const settings = ['/etc/pip.conf', '/etc/xdg/pip', ...ofUser];
  return {
    read: [
      ...[...common, join(cache, 'objects'), join(dirname(step.work), 'given')],
      ...[...NETWORK, ...settings, ...filesIn(step.environment)],
    ],
    execute: [...interpreter(python), ...TOOLS],
    write: [step.work, '/dev/null', ...(pipCache === undefined ? [] : [pipCache])],
    connect: 'any',
    ...both,
  };
}

const interpreter = ({ files, program }: Python): string[] => [
  program,
  ...files.filter((path) => /\/bin\/[^/]+$/.test(path)),
  ...LOADERS,
];

function filesIn(environment: Readonly<Record<string, string>>): string[] {
  return Object.entries(environment)
    .filter(([name]) => NAMES_FILES.test(name))
    .flatMap(([, value]) => value.split(/\s+/))
    .flatMap((value) => (value.startsWith('file:///') ? [fileURLToPath(value)] : value.startsWith('/') ? [value] : []));
}
