/** The runtime as a process of its own, started as an activator starts it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestActivator } from './activator.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

export interface Activation {
  readonly uri?: string;
  readonly ko?: string;
  readonly files: Readonly<Record<string, string | Buffer>>;
  readonly entry?: string;
  readonly function?: string;
  readonly checksum?: string;
}

export const secret = 'the secret of this start';

const { NODE_COMPILE_CACHE } = process.env;
/** Half of a start is to compile what another has compiled. */
const COMPILED = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

export class TestRuntime implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly url: string;
  readonly cacheDir: string;
  /** What it printed. */
  readonly lines: Record<string, unknown>[];
  readonly #activator: TestActivator;
  readonly #printed: EventEmitter;

  private constructor(child: ChildProcess, url: string, cacheDir: string, activator: TestActivator, printed: Printed) {
    this.child = child;
    this.url = url;
    this.cacheDir = cacheDir;
    this.#activator = activator;
    this.lines = printed.lines;
    this.#printed = printed.events;
  }

  /**
   * @param settings added to the environment; a cache folder given there is not removed at the end.
   * @param folder where the runtime lies.
   */
  static async start(
    activator: TestActivator,
    settings: Readonly<Record<string, string>> = {},
    folder = join(import.meta.dirname, '..'),
  ): Promise<TestRuntime> {
    const cacheDir = settings['KGRID_NODE_CACHE_DIR'] ?? (await temporaryFolder());
    const child = spawn(process.execPath, [join(folder, 'main.ts')], {
      env: {
        PATH: process.env['PATH'],
        ...COMPILED,
        HOME: cacheDir,
        KGRID_PROXY_ADAPTER_URL: activator.url,
        KGRID_NODE_ENV_PORT: '0',
        KGRID_NODE_CACHE_DIR: cacheDir,
        KGRID_RUNTIME_PARENT: 'stdin',
        ...settings,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin?.write(`${JSON.stringify({ secret })}\n`);
    const printed: Printed = { lines: [], events: new EventEmitter() };
    const first = once(printed.events, 'line') as Promise<[{ url: string }]>;
    if (child.stdout) {
      createInterface(child.stdout).on('line', (text) => {
        const line = JSON.parse(text) as Record<string, unknown>;
        printed.lines.push(line);
        printed.events.emit('line', line);
      });
    }
    const exit = once(child, 'exit').then(() => Promise.reject(new Error('the runtime ended before it listened')));
    exit.catch(() => undefined);
    try {
      const [{ url }] = await Promise.race([first, exit]);
      return new TestRuntime(child, url, cacheDir, activator, printed);
    } catch (error) {
      await rm(cacheDir, { recursive: true, force: true });
      throw error;
    }
  }

  async post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-kgrid-runtime-secret': secret, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  async get(path: string): Promise<Reply> {
    return this.request(path, { headers: { 'x-kgrid-runtime-secret': secret } });
  }

  async request(path: string, init: RequestInit): Promise<Reply> {
    const response = await fetch(`${this.url}/${path}`, init);
    return { status: response.status, headers: response.headers, body: (await response.json()) as Reply['body'] };
  }

  /**
   * Calls an endpoint several times on one connection without waiting for answers, so that the calls arrive in this
   * order and together. Each is an input and the milliseconds it may take. @returns the statuses.
   */
  async pipeline(uri: string, calls: readonly (readonly [input: object, ms: number])[]): Promise<number[]> {
    const { host, hostname, port } = new URL(this.url);
    const requests = calls.map(([input, ms]) => {
      const body = JSON.stringify(input);
      const headers = `content-type: application/json\r\nx-kgrid-runtime-secret: ${secret}\r\nx-kgrid-deadline-ms: ${ms}`;
      return `POST /${uri} HTTP/1.1\r\nhost: ${host}\r\n${headers}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    });
    const socket = connect(Number(port), hostname);
    socket.write(requests.join(''));
    let text = '';
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      text += chunk.toString();
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
      if (statuses.length === calls.length) return statuses;
    }
    throw new Error('the connection ended early');
  }

  /** Asks for an activation, again as long as it is in processing. */
  async activate(activation: Activation): Promise<Reply> {
    const body = this.descriptor(activation);
    for (;;) {
      const reply = await this.post('endpoints', body);
      if (reply.status !== 503) return reply;
    }
  }

  /** What an activator sends to `POST /endpoints`; puts the files there for the runtime to fetch. */
  descriptor({
    uri = 'test/ko/1.0/run',
    ko = 'test/ko/v1.0',
    files,
    entry = 'src/index.js',
    ...rest
  }: Activation): object {
    this.#activator.put(ko, files);
    const artifact = Object.keys(files);
    const baseUrl = `${this.#activator.url}/proxy/artifacts/${ko}/`;
    return { uri, baseUrl, artifact, entry, function: rest.function ?? 'run', engine: 'node', checksum: rest.checksum };
  }

  /** The next line it prints that fits, or one that it printed already. */
  async line(fits: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    for (;;) {
      const line = this.lines.find(fits);
      if (line) return line;
      await once(this.#printed, 'line');
    }
  }

  /** Ids of the processes that it started. */
  async workers(): Promise<number[]> {
    const { pid } = this.child;
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    const pids = children.trim().split(' ').filter(Boolean).map(Number);
    const running = await Promise.all(pids.map(async (child) => !(await isGuard(child)) && !(await hasEnded(child))));
    return pids.filter((_, at) => running[at]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exit = once(this.child, 'exit');
      this.child.kill('SIGCONT');
      this.child.stdin?.end();
      await exit;
    }
    await rm(this.cacheDir, { recursive: true, force: true });
  }
}

/** Ends the runtime and keeps its cache folder. */
export async function stop(runtime: TestRuntime): Promise<void> {
  runtime.child.stdin?.end();
  await once(runtime.child, 'exit');
}

interface Printed {
  readonly lines: Record<string, unknown>[];
  readonly events: EventEmitter;
}

export const temporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'kgrid-node-test-'));

/** Resolves when the process is gone. */
export async function gone(pid: number): Promise<void> {
  for (let tries = 0; tries < 3000; tries += 1) {
    if (await hasEnded(pid)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`process ${pid} is still there`);
}

/** A shell that ends what a worker started once the runtime is gone; it runs nothing of knowledge objects. */
const isGuard = async (pid: number): Promise<boolean> =>
  /^\d+ \(sh\) /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''));

/** A zombie has ended too; its parent has not looked yet. */
async function hasEnded(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return stat === undefined || / Z /.test(stat);
}
