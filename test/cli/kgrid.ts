/** Runs the author's commands: in this process, or as people do, as a process by their launcher. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Context } from '../../cli/lib/context.ts';
import { EXIT } from '../../cli/lib/exit.ts';
import { createTerminal } from '../../cli/lib/terminal.ts';
import { runCommand } from '../../cli/program.ts';

export const PROJECT = resolve(import.meta.dirname, '../..');
export const LAUNCHER = join(PROJECT, 'cli/kgrid.js');
const TIMEOUT_MS = 180_000;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  /** Beside `PATH` and `HOME`; nothing else of the test's environment reaches it. */
  readonly env?: Readonly<Record<string, string>>;
  /** Options of the Node that starts the launcher. */
  readonly node?: readonly string[];
  /** Sent to its standard input. */
  readonly input?: string;
}

let before: Promise<unknown> = Promise.resolve();

/**
 * Runs a command to its end as its process would, in this one: that saves the start, which is most of its processor time.
 * One after the other, since each has a working directory.
 */
export function kgrid(args: readonly string[], options: Omit<RunOptions, 'node'> = {}): Promise<Ended> {
  const ended = before.then(() => runHere(args, options));
  before = ended.catch(() => undefined);
  return ended;
}

async function runHere(args: readonly string[], { cwd, env, input = '' }: RunOptions): Promise<Ended> {
  const { PATH = '', HOME = '' } = process.env;
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = Promise.all([text(stdout), text(stderr)]);
  const context: Context = {
    env: { PATH, HOME, ...env },
    stdin: Readable.from([Buffer.from(input)]),
    stdout,
    terminal: ({ json = false }) => createTerminal({ json, stdin: Readable.from([input]), stdout, stderr }),
    interrupted: () => Promise.reject(new Error('Only a process can be interrupted')),
    write: (printed) => void stdout.write(printed),
    writeError: (printed) => void stderr.write(printed),
    exitCode: EXIT.ok,
  };
  const home = process.cwd();
  process.chdir(cwd ?? home);
  try {
    const code = await runCommand(args, context);
    stdout.end();
    stderr.end();
    const [out, err] = await said;
    return { code, signal: null, stdout: out, stderr: err };
  } finally {
    process.chdir(home);
  }
}

/** Runs a command to its end as a process. */
export async function kgridProcess(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const child = launch(args, options);
  const output = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (output.stdout += chunk));
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (output.stderr += chunk));
  child.stdin?.end(options.input ?? '');
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, ...output };
}

/** Runs a command with `--json` and gives what it says. */
export async function kgridJson<T>(args: readonly string[], options: RunOptions = {}): Promise<Ended & { json: T }> {
  const ended = await kgrid([...args, '--json'], options);
  try {
    return { ...ended, json: JSON.parse(ended.stdout) as T };
  } catch (cause) {
    throw new Error(`No JSON, exit code ${ended.code}: ${ended.stdout}${ended.stderr}`, { cause });
  }
}

export type Event = Readonly<Record<string, unknown>>;

export interface Running extends AsyncDisposable {
  /** The first event of which it holds that no earlier call has given. */
  next(holds: (event: Event) => boolean): Promise<Event>;
  stop(signal: NodeJS.Signals): Promise<Ended>;
}

/** Starts a command that goes on and tells events, one JSON object a line. */
export function startKgrid(args: readonly string[], options: RunOptions = {}): Running {
  const child = launch([...args, '--json'], options);
  const events: Event[] = [];
  let stderr = '';
  let look = (): void => undefined;
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      events.push(JSON.parse(line) as Event);
      look();
    });
  }
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const ended = once(child, 'close').then((end): Ended => {
    look();
    const [code, signal] = end as [number | null, NodeJS.Signals | null];
    return { code, signal, stdout: '', stderr };
  });
  const stop = async (signal: NodeJS.Signals): Promise<Ended> => {
    child.kill(signal);
    return ended;
  };
  return {
    stop,
    next: (holds) =>
      new Promise((found, failed) => {
        const timer = setTimeout(() => failed(new Error(`It did not come: ${stderr}`)), TIMEOUT_MS);
        look = () => {
          const at = events.findIndex(holds);
          if (at === -1 && child.exitCode === null) return;
          clearTimeout(timer);
          const [event] = at === -1 ? [] : events.splice(0, at + 1).slice(-1);
          if (event === undefined) failed(new Error(`It ended with ${child.exitCode}: ${stderr}`));
          else found(event);
        };
        look();
      }),
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
      await stop('SIGTERM');
      clearTimeout(timer);
    },
  };
}

function launch(args: readonly string[], { cwd, env, node = [] }: RunOptions): ChildProcess {
  const { PATH = '', HOME = '' } = process.env;
  return spawn(process.execPath, [...node, LAUNCHER, ...args], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { PATH, HOME, ...env },
    stdio: 'pipe',
  });
}

export interface Folder extends AsyncDisposable {
  readonly path: string;
}

export async function temporaryFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'kgrid-test-cli-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** A knowledge object `test/<name>/v1.0` made from a template, as `create` makes it, and with texts of its own. */
export async function fromTemplate(engine: string, folder: string, name: string): Promise<string> {
  const target = join(folder, name);
  await cp(join(PROJECT, 'templates', engine), target, { recursive: true });
  const values: Record<string, string> = { naan: 'test', name, version: 'v1.0', apiVersion: '1.0', title: name };
  for (const path of await filesIn(target)) {
    const text = await readFile(join(target, path), 'utf8');
    await writeFile(
      join(target, path),
      text.replace(/\{\{(\w+)\}\}/g, (whole, key: string) => values[key] ?? whole).replaceAll('Say here what', 'What'),
    );
  }
  return target;
}

/** Replaces text in a file; it must be there. */
export async function edit(file: string, from: string | RegExp, to: string): Promise<void> {
  const before = await readFile(file, 'utf8');
  const after = before.replace(from, to);
  if (after === before) throw new Error(`${file} does not hold ${String(from)}`);
  await writeFile(file, after);
}

/** The number of the first line that holds a text; it must be there. */
export async function lineOf(file: string, text: string): Promise<number> {
  const at = (await readFile(file, 'utf8')).split('\n').findIndex((line) => line.includes(text));
  if (at === -1) throw new Error(`${file} does not hold ${text}`);
  return at + 1;
}

interface Place {
  readonly file: string;
  readonly line?: number;
  readonly message: string;
}

/**
 * What is said of a knowledge object, as `file:«line» message` with the text of a line in place of each number, so that
 * expectations hold whatever else stands in the file.
 */
export async function saidOf(ko: string, { file, line, message }: Place): Promise<string> {
  const quote = async (name: string, number: number): Promise<string> =>
    `«${(await readFile(join(ko, name), 'utf8')).split('\n')[number - 1]?.trim() ?? 'no such line'}»`;
  let said = message;
  for (const [whole, name = file, number = ''] of message.matchAll(/(?:\b([\w.-]+\.\w+):|\bline )(\d+)\b/g))
    said = said.replace(whole, whole.replace(number, await quote(name, Number(number))));
  return `${file}:${line === undefined ? '' : await quote(file, line)} ${said}`;
}

/** Relative paths of all files below a folder, sorted. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort();
}
