/** Runs files of tests, each in a process group of its own, and prints the result of each when it ends. */
import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { basename, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as later } from 'node:timers/promises';

/** A program whose exit status says whether its tests passed. */
export interface TestRun {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** A program that takes longer is ended and has failed. */
  readonly limitMs: number;
}

/** Finds what does not end at all: on a machine whose cores are busy with other work, files take many times as long. */
const LIMIT_MS = 40 * 60_000;

export const runOfFile = (file: string, cwd: string, execArgv: readonly string[]): TestRun => ({
  name: file.startsWith(cwd) ? relative(cwd, file) : basename(file),
  limitMs: LIMIT_MS,
  program: process.execPath,
  args: [...execArgv, '--test-reporter=spec', file],
});

interface Running {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly began: number;
  printed: string;
}

interface Ended {
  readonly name: string;
  readonly passed: boolean;
  /** Seconds. */
  readonly took: number;
  /** Seconds of processor time, with all that it started and waited for. */
  readonly used: number;
  readonly tests: number;
}

export class FileRuns {
  readonly #cwd: string;
  readonly #print: (text: string) => void;
  readonly #running = new Map<TestRun, Running>();
  readonly #ended: Ended[] = [];
  #left = 0;
  #isCut = false;
  #used = 0;

  constructor(cwd: string, print: (text: string) => void) {
    this.#cwd = cwd;
    this.#print = print;
  }

  get passed(): boolean {
    return !this.#isCut && this.failed.length === 0;
  }

  /** Runs so many at a time, in their order. */
  async run(runs: readonly TestRun[], concurrency: number): Promise<void> {
    this.#left += runs.length;
    const waiting = runs.values();
    const worker = async (): Promise<void> => {
      for (const run of waiting) {
        if (this.#isCut) return;
        this.#left -= 1;
        await this.#runOne(run);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
  }

  /** The files that failed. */
  get failed(): readonly string[] {
    return this.#ended.filter(({ passed }) => !passed).map(({ name }) => name);
  }

  summary(): string {
    const sum = (of: 'tests' | 'used'): number => this.#ended.reduce((total, each) => total + each[of], 0);
    const sums = `${this.#ended.length} files, ${sum('tests')} tests, ${sum('used').toFixed(0)} s of processor time`;
    const failed = this.failed.map((name) => `  ${name}\n`).join('');
    const verdict = failed === '' ? (this.#isCut ? 'Not all were run.' : 'All passed.') : 'Failed:';
    return `\n${sums}. ${verdict}\n${failed}`;
  }

  /** A line for each file, the one that takes most of the processor first. */
  times(): string {
    const lines = this.#ended
      .toSorted((a, b) => b.used - a.used)
      .map(({ name, used, took }) => `${used.toFixed(2).padStart(8)}${took.toFixed(1).padStart(8)}  ${name}\n`);
    return `\nSeconds of processor time, and seconds\n${lines.join('')}`;
  }

  /** Ends what runs, and names it. */
  async end(why: string): Promise<void> {
    this.#isCut = true;
    const running = [...this.#running];
    this.#print(`\nEnded by ${why}. ${this.#left} files were not begun, and these still ran:\n`);
    for (const [{ name }, { began, printed }] of running)
      this.#print(`✖ ${name} (${secondsSince(began).toFixed(1)} s)\n${printed}`);
    await Promise.all(running.map(([, { child }]) => endGroup(child)));
  }

  async #runOne(run: TestRun): Promise<void> {
    const { name, program, args, limitMs } = run;
    // A test of this file is run by Node, whose variable would make the reports binary.
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    const child = spawn(program, args, { cwd: this.#cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const running = { child, began: performance.now(), printed: '' };
    this.#running.set(run, running);
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => void (running.printed += text));
    let used = 0;
    child.once('exit', () => {
      const all = usedByChildren();
      used = all - this.#used;
      this.#used = all;
    });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      void endGroup(child);
    }, limitMs);
    await once(child, 'close');
    clearTimeout(timer);
    this.#running.delete(run);
    if (this.#isCut) return;
    const tests = Number(/^ℹ tests (\d+)$/m.exec(running.printed)?.[1] ?? 0);
    const took = secondsSince(running.began);
    const passed = child.exitCode === 0 && !isLate;
    this.#ended.push({ name, passed, took, used, tests });
    const times = isLate ? `ended at its limit, ${limitMs / 1000} s` : `${took.toFixed(1)} s`;
    this.#print(passed ? `✔ ${name} (${times})\n` : `✖ ${name} (${times})\n${running.printed}\n`);
  }
}

const secondsSince = (began: number): number => (performance.now() - began) / 1000;

/** Of the kernel, a second. */
const TICKS = 100;

/** Seconds of processor time of all children that have ended. */
function usedByChildren(): number {
  // `cutime` and `cstime` are the fields 16 and 17; the first after the name is field 3.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}

/** How long a program that is ended may take to end what it started. */
const GRACE_MS = 5000;

async function endGroup(child: Running['child']): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  const isOver = child.exitCode !== null || child.signalCode !== null;
  const exited = isOver ? undefined : once(child, 'exit');
  signalGroup(pid, 'SIGTERM');
  await Promise.race([exited, later(GRACE_MS, undefined, { ref: false })]);
  signalGroup(pid, 'SIGKILL');
  // What has left the group may hold them open.
  child.stdout.destroy();
  child.stderr.destroy();
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
