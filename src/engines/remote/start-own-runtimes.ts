/** The runtimes that come with the service: how each is started, and why one cannot be. */
import { execFile } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import { messageOf } from '../../lib/errors.ts';
import { OwnRuntime } from './own-runtime.ts';
import type { RuntimeRegistry } from './runtime-registry.ts';

export interface OwnRuntimesOptions {
  readonly names: readonly ('node' | 'python')[];
  readonly registry: RuntimeRegistry;
  readonly secret: string;
  /** Under which runtimes reach this service. */
  readonly address: string;
  /** Where runtimes keep what they fetched and installed. */
  readonly cache: string;
  /** Milliseconds a call may take here; theirs ends a little earlier. */
  readonly callTimeout: number;
  /** Bytes. */
  readonly maxResult: number;
  readonly maxBody: number;
  /** Of this process: what the installers of packages need of it is passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
}

const RUNTIMES = join(import.meta.dirname, '../../../runtimes');
const EARLIER = 1000;
const PASSED_ON =
  /^(PATH|HOME|TMPDIR|TZ|LANG|LC_\w+|XDG_\w+|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|LD_LIBRARY_PATH|KGRID_PROXY_HEARTBEAT_INTERVAL)$/i;
/** They may hold credentials, and others can read the environment of a process. */
const FOR_INSTALLERS = /^(NPM_\w+|PIP_\w+|(https?|no|all)_proxy)$/i;
const run = promisify(execFile);

/** Starts them; those that cannot run leave the reason in their engine. */
export async function startOwnRuntimes(options: OwnRuntimesOptions): Promise<AsyncDisposable[]> {
  for (const name of options.names) options.registry.engine(name).starting = true;
  const starting = options.names.map((name) =>
    name === 'node' ? Promise.resolve(startNode(options)) : startPython(options),
  );
  const started = await Promise.all(starting);
  return started.filter((each) => each !== undefined);
}

function startNode(options: OwnRuntimesOptions): OwnRuntime {
  return start(options, 'node', process.execPath, [join(RUNTIMES, 'node/main.ts')]);
}

async function startPython(options: OwnRuntimesOptions): Promise<OwnRuntime | undefined> {
  const engine = options.registry.engine('python');
  try {
    await run(
      'python3',
      ['-c', 'import sys; assert sys.version_info >= (3, 9), "Python is " + sys.version.split()[0]'],
      { env: only(options.environment, PASSED_ON) },
    );
  } catch (thrown) {
    const found =
      (thrown as NodeJS.ErrnoException).code === 'ENOENT'
        ? 'python3 is not installed'
        : `python3 cannot be used: ${messageOf(thrown).split('\n').at(-2) ?? ''}`;
    engine.absence = `${found}; install Python 3.9 or newer (Debian: apt-get install python3 python3-venv python3-pip) and start again`;
    engine.starting = false;
    options.log.warn({ runtime: 'python' }, engine.absence);
    return undefined;
  }
  return start(options, 'python', 'python3', ['-m', 'kgrid_runtime']);
}

function start(options: OwnRuntimesOptions, name: 'node' | 'python', command: string, args: string[]): OwnRuntime {
  const { registry } = options;
  const engine = registry.engine(name);
  const NAME = name.toUpperCase();
  const limit = Math.max(0.1, (options.callTimeout - EARLIER) / 1000);
  return new OwnRuntime({
    engine,
    command,
    args,
    env: {
      ...only(options.environment, PASSED_ON),
      PATH: [join(RUNTIMES, '../node_modules/.bin'), options.environment['PATH'] ?? ''].join(delimiter),
      PYTHONPATH: join(RUNTIMES, 'python'),
      PYTHONUNBUFFERED: '1',
      KGRID_PROXY_ADAPTER_URL: options.address,
      KGRID_RUNTIME_PARENT: 'stdin',
      [`KGRID_${NAME}_ENV_PORT`]: '0',
      [`KGRID_${NAME}_CACHE_DIR`]: join(options.cache, name),
      [`KGRID_${NAME}_EXECUTION_TIMEOUT`]: String(limit),
      ...limitsOf(options),
    },
    handedOver: { secret: options.secret, installer: only(options.environment, FOR_INSTALLERS) },
    onEnd: (url) => {
      const runtime = engine.runtimes.find((each) => each.url === url);
      if (runtime !== undefined) registry.remove(runtime);
    },
    log: options.log,
  });
}

/** Each has a unit of its own: millions of bytes, and bytes. */
function limitsOf({ maxResult, maxBody }: OwnRuntimesOptions): Record<string, string> {
  const result = Math.max(1024, maxResult);
  // Calls that share a request are larger together than a small limit.
  const body = Math.max(MEGABYTE, maxBody);
  const memory = Math.ceil((TIMES_IN_MEMORY * (result + body)) / MEGABYTE);
  return {
    KGRID_NODE_OUTPUT_LIMIT: String(Math.min(LONGEST_TEXT, result) / 1e6),
    KGRID_NODE_BODY_LIMIT: String(Math.min(LONGEST_TEXT, body) / 1e6),
    KGRID_NODE_MEMORY_LIMIT: String(Math.max(256, memory)),
    KGRID_PYTHON_OUTPUT_LIMIT: String(result),
    KGRID_PYTHON_BODY_LIMIT: String(body),
    KGRID_PYTHON_MEMORY_LIMIT: `${Math.max(512, memory)}M`,
  };
}

const MEGABYTE = 2 ** 20;
/** Bytes that a text of V8, in which a body reaches the code, can have for sure. */
const LONGEST_TEXT = 536e6;
/** How much memory code needs for its largest input and result: as bytes, as a text, and as what was parsed. */
const TIMES_IN_MEMORY = 4;

function only(environment: OwnRuntimesOptions['environment'], names: RegExp): Record<string, string> {
  const passed = Object.entries(environment).filter(([name, value]) => value !== undefined && names.test(name));
  return Object.fromEntries(passed) as Record<string, string>;
}
