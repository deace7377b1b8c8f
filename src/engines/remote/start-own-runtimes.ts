/** Starts the runtimes that come with the service; the table of engines says which there are. */
import { delimiter, join } from 'node:path';
import type { Logger } from 'pino';
import { runtimeProgram } from '../table.ts';
import { OwnRuntime } from './own-runtime.ts';
import { RUNTIMES, runtimeLimits } from './runtime-program.ts';
import type { RuntimeProgram } from './runtime-program.ts';
import type { RuntimeRegistry } from './runtime-registry.ts';

export interface OwnRuntimesOptions {
  readonly names: readonly string[];
  readonly registry: RuntimeRegistry;
  readonly secret: string;
  /** Under which runtimes reach this service. */
  readonly address: string;
  /** Where runtimes keep what they fetched and installed. */
  readonly cache: string;
  /** `<naan>/<name>` of KOs whose dependencies may be built from their sources. */
  readonly sourceBuilds: readonly string[];
  /** Hears of the engines whose runtime cannot run. */
  readonly onAbsent: (engine: string) => void;
  /** Milliseconds a call may take here; theirs ends a little earlier. */
  readonly callTimeout: number;
  /** Bytes. */
  readonly maxResult: number;
  readonly maxBody: number;
  /** Of this process: what the installers of packages need of it is passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
}

/** Milliseconds. */
const EARLIER_MS = 1000;
const PASSED_ON =
  /^(PATH|HOME|TMPDIR|TZ|LANG|LC_\w+|XDG_\w+|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|LD_LIBRARY_PATH|KGRID_PROXY_HEARTBEAT_INTERVAL)$/i;
/** They may hold credentials, and others can read the environment of a process. */
const FOR_INSTALLERS = /^(NPM_\w+|PIP_\w+|(https?|no|all)_proxy)$/i;

/** Starts them; those that cannot run leave the reason in their engine. */
export async function startOwnRuntimes(options: OwnRuntimesOptions): Promise<AsyncDisposable[]> {
  for (const name of options.names) options.registry.engine(name).starting = true;
  const started = await Promise.all(options.names.map((name) => startOne(options, name)));
  return started.filter((each) => each !== undefined);
}

async function startOne(options: OwnRuntimesOptions, name: string): Promise<OwnRuntime | undefined> {
  const program = await runtimeProgram(name);
  if (program === undefined) throw new Error(`no runtime ${name} comes with the service`);
  const absence = await program.absence(only(options.environment, PASSED_ON));
  if (absence === undefined) return start(options, name, program);
  const engine = options.registry.engine(name);
  engine.absence = absence;
  engine.starting = false;
  options.onAbsent(name);
  options.log.warn({ runtime: name }, absence);
  return undefined;
}

function start(options: OwnRuntimesOptions, name: string, program: RuntimeProgram): OwnRuntime {
  const { registry, maxResult, maxBody } = options;
  const engine = registry.engine(name);
  const callSeconds = Math.max(0.1, (options.callTimeout - EARLIER_MS) / 1000);
  return new OwnRuntime({
    engine,
    command: program.command,
    args: program.args,
    env: {
      ...only(options.environment, PASSED_ON),
      PATH: [join(RUNTIMES, '../node_modules/.bin'), options.environment['PATH'] ?? ''].join(delimiter),
      KGRID_PROXY_ADAPTER_URL: options.address,
      KGRID_RUNTIME_PARENT: 'stdin',
      ...program.variables(
        runtimeLimits(callSeconds, maxResult, maxBody),
        join(options.cache, name),
        options.sourceBuilds,
      ),
    },
    handedOver: { secret: options.secret, installer: only(options.environment, FOR_INSTALLERS) },
    onEnd: (url) => {
      const runtime = engine.runtimes.find((each) => each.url === url);
      if (runtime !== undefined) registry.remove(runtime);
    },
    log: options.log,
  });
}

function only(environment: OwnRuntimesOptions['environment'], names: RegExp): Record<string, string> {
  const passed = Object.entries(environment).filter(([name, value]) => value !== undefined && names.test(name));
  return Object.fromEntries(passed) as Record<string, string>;
}
