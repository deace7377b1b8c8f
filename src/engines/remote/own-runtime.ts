/** Starts one of the runtimes that come with the service, and starts it again when it ends. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Logger } from 'pino';
import { Backoff } from '../../lib/backoff.ts';
import { withoutHostPaths } from '../../lib/host-paths.ts';
import { uptime } from '../../lib/uptime.ts';
import type { RemoteEngine } from './remote-engine.ts';
import { RuntimeOutput } from './runtime-output.ts';

export interface OwnRuntimeOptions {
  readonly engine: RemoteEngine;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What it must know and no environment may show: it comes by standard input. */
  readonly handedOver: Readonly<Record<string, unknown>>;
  /** Its address is no longer that of a runtime. */
  readonly onEnd: (url: string) => void;
  /** Milliseconds it may take until it listens. */
  readonly startLimit?: number;
  readonly log: Logger;
}

const START_TIMEOUT_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A runtime that lived this long starts over at once. */
const STABLE_MS = 60_000;
/** Nobody waits for its calls any more when it is told to stop. */
const STOP_GRACE_MS = 500;
const HEALTH_CHECK_MS = 10_000;
/** How often in a row it may not answer before it counts as hung. */
const MAX_SILENT_CHECKS = 9;
const MAX_MESSAGE_CHARACTERS = 500;

export class OwnRuntime implements AsyncDisposable {
  readonly #options: OwnRuntimeOptions;
  #child: ChildProcess | undefined;
  #url: string | undefined;
  readonly #backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  #timer: NodeJS.Timeout | undefined;
  #starting: NodeJS.Timeout | undefined;
  #stopping = false;
  #silent = 0;
  readonly #watch: NodeJS.Timeout;

  constructor(options: OwnRuntimeOptions) {
    this.#options = options;
    this.#start();
    this.#watch = setInterval(() => void this.#look(), HEALTH_CHECK_MS);
    this.#watch.unref();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Ends it for good; may be called twice. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    clearInterval(this.#watch);
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    // It ends when its input does, as it would if this process were killed.
    child.stdin?.end();
    const hard = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
    await ended;
    clearTimeout(hard);
  }

  #start(): void {
    const { command, args, env, handedOver, engine, log } = this.#options;
    const began = uptime();
    // In a session of its own, so that Ctrl-C reaches the service alone.
    const child: ChildProcess = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    this.#child = child;
    // A process for which no handle was left has no pipes.
    child.stdin?.on('error', () => undefined);
    child.stdin?.write(`${JSON.stringify(handedOver)}\n`);
    const output = new RuntimeOutput(engine.name, (url) => this.#onListening(url), log);
    let last = '';
    if (child.stdout) output.read(child.stdout);
    if (child.stderr) output.read(child.stderr, (line) => (last = line.slice(0, MAX_MESSAGE_CHARACTERS)));
    const { startLimit = START_TIMEOUT_MS } = this.#options;
    let tooLate = '';
    this.#starting = setTimeout(() => {
      tooLate = `it did not listen within ${startLimit / 1000} s`;
      child.kill('SIGKILL');
    }, startLimit);
    this.#starting.unref();
    let ended = false;
    const onEnd = (reason: string): void => {
      if (ended) return;
      ended = true;
      clearTimeout(this.#starting);
      if (this.#url !== undefined) this.#options.onEnd(this.#url);
      this.#url = undefined;
      if (this.#stopping) return;
      if (uptime() - began > STABLE_MS) this.#backoff.reset();
      const pause = this.#backoff.next();
      engine.absence = `the ${engine.name} runtime ended (${tooLate || reason})${last === '' ? '' : `: ${withoutHostPaths(last)}`}; it is started again`;
      log.error({ runtime: engine.name, reason: tooLate || reason, last, again: pause }, 'a runtime ended');
      this.#timer = setTimeout(() => this.#start(), pause);
      this.#timer.unref();
    };
    child.once('error', (error) => onEnd(error.message));
    child.once('exit', (code, signal) => onEnd(signal ?? `exit code ${String(code)}`));
  }

  /** Ends a runtime that runs but does not answer any more. */
  async #look(): Promise<void> {
    const { engine, log } = this.#options;
    const runtime = engine.runtimes.find((each) => each.url === this.#url);
    if (runtime === undefined) return;
    this.#silent = (await runtime.info()) === undefined ? this.#silent + 1 : 0;
    if (this.#silent < MAX_SILENT_CHECKS) return;
    this.#silent = 0;
    log.error({ runtime: engine.name }, 'a runtime does not answer any more: it is ended and started again');
    this.#child?.kill('SIGKILL');
  }

  #onListening(url: string): void {
    clearTimeout(this.#starting);
    const { log, engine } = this.#options;
    this.#url = url;
    engine.absence = undefined;
    log.info({ runtime: engine.name, url, pid: this.pid }, 'runtime started');
  }
}
