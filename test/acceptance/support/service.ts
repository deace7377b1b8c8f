/** The service under test: one that runs elsewhere (`ACCEPTANCE_URL`), or a child process of the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import type { TestDatabase } from '../../support/postgres/shared.ts';
import { clientOf } from './knowledge-grid.ts';
import type { Client } from './knowledge-grid.ts';

export const PROJECT = resolve(import.meta.dirname, '../../..');
/** As `npm start` does, without npm. */
const START = 'src/start.sh';

/** Root without what lets it pass over the permissions of files: it needs nothing of the folders above the project. */
const BOUND_BY_PERMISSIONS = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--'];

/** What comes at all has come by then, however busy the machine is. */
const AWAITED_MS = 120_000;
/** No call ends at its limit because the machine is busy; a test of the limit sets its own. */
const PATIENT_CALLS = ['--execution-timeout', '60s'];

export type LogLine = Readonly<Record<string, unknown>>;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Start {
  /** After `--port 0 --runtimes none --execution-timeout 60s`, where they do not say these themselves. */
  readonly args?: readonly string[];
  /** Set for the child beside `PATH`; nothing else of the test's environment reaches it. */
  readonly env?: Readonly<Record<string, string>>;
  /** The shelf; a temporary folder, removed at the end, when it is left out; `false` gives no `--shelf`. */
  readonly shelf?: string | false;
  /** `dev` when it is left out; `false` gives no `--profile`. */
  readonly profile?: string | false;
  /** `user:password` for the client. */
  readonly credentials?: string;
  /** Resolves with the event `listening`, not only with `ready`. */
  readonly early?: boolean;
  /** Folder of the project to run, in place of this one. */
  readonly project?: string;
  /** What starts it, in place of `src/start.sh`. */
  readonly program?: string;
  /** Never runs with the rights of root, to whom no file is read-only. */
  readonly unprivileged?: boolean;
  /** A command that starts it as another user. */
  readonly as?: readonly string[];
}

export interface OwnService extends Client, AsyncDisposable {
  readonly shelf: string;
  readonly pid: number;
  readonly log: readonly LogLine[];
  /** All that the child wrote to standard error. */
  readonly stderr: () => string;
  /** The first log line, past or to come, of which `matches` holds. */
  readonly logged: (matches: (line: LogLine) => boolean) => Promise<LogLine>;
  readonly ready: () => Promise<LogLine>;
  /** Sends the signal and waits for the end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<Exit>;
}

/** A folder that goes away with the test. */
export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'kgrid-acceptance-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Services that are given no shelf have one in a database, in place of a folder. */
export const IN_DATABASE = process.env['ACCEPTANCE_SHELF'] === 'postgres';
let database: Promise<TestDatabase> | undefined;
if (IN_DATABASE) after(async () => (await database)?.[Symbol.asyncDispose]());

interface ShelfPlace extends AsyncDisposable {
  readonly path: string;
  readonly args?: readonly string[];
}

/** A fleet of its own, in the one database of this process. */
async function databaseShelf(): Promise<ShelfPlace> {
  database ??= import('../../support/postgres/shared.ts').then(({ testDatabase }) => testDatabase());
  const { url } = await database;
  const state = await temporaryFolder();
  const args = ['--fleet', `fleet-${crypto.randomUUID().slice(0, 8)}`, '--state', state.path];
  return { path: url, args, [Symbol.asyncDispose]: () => state[Symbol.asyncDispose]() };
}

const withMore = (start: Start, args: readonly string[]): Start => ({
  ...start,
  args: [...(start.args?.includes('--state') === true ? args.slice(0, 2) : args), ...(start.args ?? [])],
});

/** Starts the service and waits until it is ready. */
export async function startService(start: Start = {}): Promise<OwnService> {
  const folder: ShelfPlace | undefined =
    start.shelf === undefined ? await (IN_DATABASE ? databaseShelf() : temporaryFolder()) : undefined;
  const shelf = folder?.path ?? start.shelf;
  const child = launch(withMore(start, folder?.args ?? []), shelf);
  try {
    const listening = await child.logged((line) => line['event'] === 'listening');
    const ready = (): Promise<LogLine> => child.logged((line) => line['event'] === 'ready');
    if (start.early !== true) await ready();
    return {
      ...clientOf(String(listening['url']), start.credentials),
      ...child,
      shelf: shelf === false || shelf === undefined ? '' : shelf,
      ready,
      async [Symbol.asyncDispose]() {
        await child.stop();
        await folder?.[Symbol.asyncDispose]();
      },
    };
  } catch (thrown) {
    await child.stop('SIGKILL');
    await folder?.[Symbol.asyncDispose]();
    throw thrown;
  }
}

/** Runs the service to its end, for a start that is refused. */
export async function runToEnd(start: Start): Promise<Exit & { readonly stdout: string; readonly stderr: string }> {
  await using folder = await temporaryFolder();
  const child = launch(start, start.shelf ?? folder.path);
  const exit = await child.ended;
  return { ...exit, stdout: child.stdout(), stderr: child.stderr() };
}

function launch(start: Start, shelf: string | false | undefined) {
  const { args = [], env = {}, profile = 'dev' } = start;
  const isBound = start.unprivileged === true && process.getuid?.() === 0;
  const [command, ...bound] = [...(isBound ? BOUND_BY_PERMISSIONS : (start.as ?? [])), start.program ?? START];
  const child = spawn(
    command ?? START,
    [
      ...bound,
      ...(args.includes('--port') || 'KGRID_PORT' in env || 'SERVER_PORT' in env ? [] : ['--port', '0']),
      ...(args.includes('--runtimes') ? [] : ['--runtimes', 'none']),
      ...(args.includes('--execution-timeout') || 'KGRID_EXECUTION_TIMEOUT' in env ? [] : PATIENT_CALLS),
      ...(typeof shelf === 'string' ? ['--shelf', shelf] : []),
      ...(profile === false ? [] : ['--profile', profile]),
      ...args,
    ],
    {
      cwd: start.project ?? PROJECT,
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);

  const out: string[] = [];
  const log: LogLine[] = [];
  let err = '';
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const look of waiting) look();
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    out.push(line);
    const parsed = parseLine(line);
    if (parsed !== undefined) log.push(parsed);
    wake();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));

  let gone = false;
  const ended = once(child, 'close').then(([code, signal]): Exit => {
    gone = true;
    process.off('exit', kill);
    wake();
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });

  const logged = (matches: (line: LogLine) => boolean): Promise<LogLine> =>
    new Promise((found, failed) => {
      const timer = setTimeout(() => fail('the time is over'), AWAITED_MS);
      const end = (): void => {
        clearTimeout(timer);
        waiting.delete(look);
      };
      const fail = (why: string): void => {
        end();
        failed(new Error(`The awaited log line did not come, ${why}.\n${[...out.slice(-20), err].join('\n')}`));
      };
      const look = (): void => {
        const line = log.find(matches);
        if (line !== undefined) {
          end();
          found(line);
        } else if (gone) fail('the service has ended');
      };
      waiting.add(look);
      look();
    });

  return {
    pid: child.pid ?? 0,
    log,
    logged,
    ended,
    stdout: () => out.join('\n'),
    stderr: () => err,
    async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
      if (!gone) child.kill(signal);
      const timer = setTimeout(kill, AWAITED_MS);
      const exit = await ended;
      clearTimeout(timer);
      return exit;
    },
  };
}

function parseLine(line: string): LogLine | undefined {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return undefined;
  }
}
