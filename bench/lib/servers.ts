/** The servers that are measured: the service, and the bare ones beside it. Each is a process of its own. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { launch } from './launch.ts';
import type { Launched } from './launch.ts';

const PROJECT = join(import.meta.dirname, '../..');

export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

export interface Service extends Server {
  /** Milliseconds from the start of the process until it listened. */
  readonly listening: number;
  /** Milliseconds from the start of the process until its local endpoints were decided. */
  readonly ready: number;
}

/** A knowledge object as a bare server runs it. */
export interface BareKo {
  readonly path: string;
  /** `<naan>/<name>/<apiVersion>/<endpoint>`, for `context.getExecutor`. */
  readonly id: string;
  /** Defines the function `run`. */
  readonly code: string;
  readonly metadata: unknown;
}

export interface BareAnswer {
  readonly path: string;
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: string;
}

export interface ServiceOptions {
  /** Of ours, to be started with it; none when left out. */
  readonly runtimes?: readonly string[];
  readonly sandboxes?: number;
  /** The working copy whose service it is; this one when left out. */
  readonly project?: string | undefined;
  /** Further options, as on the command line. */
  readonly more?: readonly string[];
}

/** Starts the service on the shelf and waits until it is ready. */
export async function startService(bench: Bench, shelf: string, options: ServiceOptions = {}): Promise<Service> {
  const { runtimes = [], sandboxes = 1, project = PROJECT, more = [] } = options;
  const settings = {
    port: ['0'],
    profile: ['dev'],
    shelf: [shelf],
    runtimes: runtimes.length === 0 ? ['none'] : runtimes,
    sandboxes: [String(sandboxes)],
  };
  const args = Object.entries(settings).flatMap(([name, values]) => values.flatMap((value) => [`--${name}`, value]));
  const child = launch('sh', ['-c', await startScript(project), 'sh', ...args, ...more], {
    signal: bench.signal,
    cwd: project,
  });
  return orEnd(child, async () => {
    const listening = await child.event('listening');
    const ready = await child.event('ready');
    return {
      pid: child.pid,
      url: String(listening.fields['url']),
      listening: listening.after,
      ready: ready.after,
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    };
  });
}

/** What `npm start` runs, without npm, which would wait beside it. */
async function startScript(project: string): Promise<string> {
  const { scripts } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return `PATH="$PWD/node_modules/.bin:$PATH"; ${scripts.start} "$@"`;
}

/** A bare `node:http` server that does what the knowledge objects do. */
export const startBareExecution = (bench: Bench, kos: readonly BareKo[]): Promise<Server> =>
  startBare(bench, 'execution.ts', kos);

/** A bare `node:http` server that has its answers ready. */
export const startBareBytes = (bench: Bench, answers: readonly BareAnswer[]): Promise<Server> =>
  startBare(bench, 'bytes.ts', answers);

/** A bare server of the python runtime's own bench, which prints its port. */
export async function startBarePython(bench: Bench, kind: 'asyncio' | 'http.server'): Promise<Server> {
  const program = join(PROJECT, 'runtimes/python/bench/bare_servers.py');
  const child = launch('python3', [program, kind], { signal: bench.signal });
  return orEnd(child, async () => ({
    pid: child.pid,
    url: `http://127.0.0.1:${Number(await child.firstLine())}`,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  }));
}

async function startBare(bench: Bench, program: string, input: unknown): Promise<Server> {
  const child = launch(process.execPath, [join(PROJECT, 'bench/bare', program)], {
    signal: bench.signal,
    input: JSON.stringify(input),
  });
  return orEnd(child, async () => ({
    pid: child.pid,
    url: `http://127.0.0.1:${Number(await child.firstLine())}`,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  }));
}

async function orEnd<T>(child: Launched, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (thrown) {
    await child[Symbol.asyncDispose]();
    throw thrown;
  }
}
