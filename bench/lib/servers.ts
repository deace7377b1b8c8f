/** The servers that are measured: the service, and the bare ones beside it. Each is a process of its own. */
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Bench } from './bench.ts';

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
  /** The working copy whose service it is; this one when left out. */
  readonly project?: string | undefined;
  /** Further options, as on the command line. */
  readonly more?: readonly string[];
}

/** Starts the service on the shelf and waits until it is ready. */
export async function startService(bench: Bench, shelf: string, options: ServiceOptions = {}): Promise<Service> {
  const { runtimes = [], project = PROJECT, more = [] } = options;
  const settings = {
    port: ['0'],
    profile: ['dev'],
    shelf: [shelf],
    runtimes: runtimes.length === 0 ? ['none'] : runtimes,
    sandboxes: more.includes('--sandboxes') ? [] : ['1'],
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

/** A child process that says on its output how far it is, and that never outlives the bench. */
interface Launched extends AsyncDisposable {
  readonly pid: number;
  firstLine(): Promise<string>;
  /** A JSON line with that `event`, past or to come. */
  event(name: string): Promise<{ readonly fields: Readonly<Record<string, unknown>>; readonly after: number }>;
}

interface LaunchOptions {
  readonly signal: AbortSignal;
  /** Text for its standard input. */
  readonly input?: string;
  readonly cwd?: string;
}

interface Line {
  readonly text: string;
  /** Milliseconds since the start. */
  readonly after: number;
}

const STOP_TIMEOUT_MS = 10_000;
const MAX_KEPT_LINES = 2000;
/** The first start with 100,000 knowledge objects takes some minutes. */
const TIMEOUT_MS = 600_000;

/** The child leads a process group, so that Ctrl-C reaches only the bench, and its children end with it. */
function launch(command: string, args: readonly string[], { signal, input = '', cwd }: LaunchOptions): Launched {
  const began = performance.now();
  const child = spawn(command, args, {
    cwd,
    detached: true,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const killGroup = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // Nobody is left in it.
    }
  };
  process.on('exit', killGroup);

  const said = [command, ...args].join(' ');
  const lines: Line[] = [];
  const changes = new EventEmitter();
  let errors = '';
  let end: Error | undefined;
  createInterface({ input: child.stdout }).on('line', (text) => {
    // Only the first line and events are waited for; the rest would but fill the memory.
    if (lines.length > 0 && !text.includes('"event"')) return;
    lines.push({ text, after: performance.now() - began });
    changes.emit('change');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-MAX_KEPT_LINES)));
  child.stdin.on('error', () => undefined).end(input);
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const onEnd = (why: string): void => {
    end ??= new Error(`${said} ended with ${why}: ${errors}`);
    changes.emit('change');
    resolve();
  };
  child.once('error', (error) => onEnd(error.message));
  child.once('close', (code, name) => onEnd(String(code ?? name)));

  const found = async <T>(read: (line: Line) => T | undefined): Promise<T> => {
    const enough = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    for (;;) {
      const hit = lines.map(read).find((each) => each !== undefined);
      if (hit !== undefined) return hit;
      if (end !== undefined) throw end;
      if (enough.aborted) throw new Error(signal.aborted ? 'the bench ends' : `${said} is not ready`);
      await once(changes, 'change', { signal: enough }).catch(() => undefined);
    }
  };

  return {
    pid: child.pid ?? 0,
    firstLine: () => found(({ text }) => text),
    event: (name) =>
      found(({ text, after }) => {
        const fields = fieldsOf(text);
        return fields['event'] === name ? { fields, after } : undefined;
      }),
    async [Symbol.asyncDispose]() {
      if (end === undefined) child.kill('SIGTERM');
      const hard = setTimeout(killGroup, STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(hard);
      killGroup();
      process.off('exit', killGroup);
    },
  };
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
