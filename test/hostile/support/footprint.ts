/** What the service takes of the machine at a moment, from /proc. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as later } from 'node:timers/promises';

export interface Footprint {
  /** Resident bytes of the activator. */
  readonly memory: number;
  /** Resident bytes of the activator and of all that it started. */
  readonly treeMemory: number;
  /** Open files, sockets and pipes of the activator. */
  readonly handles: number;
  /** Process ids of all that it started. */
  readonly children: readonly number[];
  /** Seconds of processor time of the activator and of what it started and has not ended yet. */
  readonly cpu: number;
}

interface Process {
  readonly pid: number;
  readonly cpu: number;
  readonly memory: number;
}

const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;
export const MEGABYTE = 1024 * 1024;

export async function footprintOf(pid: number): Promise<Footprint> {
  const processes = await descendantsOf(pid);
  const own = processes.find((each) => each.pid === pid);
  const sum = (of: (each: Process) => number): number => processes.reduce((total, each) => total + of(each), 0);
  return {
    memory: own?.memory ?? 0,
    treeMemory: sum((each) => each.memory),
    handles: (await readdir(`/proc/${pid}/fd`).catch(() => [])).length,
    children: processes.filter((each) => each.pid !== pid).map((each) => each.pid),
    cpu: sum((each) => each.cpu),
  };
}

/** Once the service does nothing more than wait: what it needed to start has ended. */
export async function restingFootprintOf(pid: number): Promise<Footprint> {
  const until = Date.now() + TIMEOUT_MS;
  for (;;) {
    const footprint = await footprintOf(pid);
    if (footprint.children.length <= RESTING_CHILDREN) return footprint;
    assert.ok(Date.now() < until, `${footprint.children.length} child processes after the start`);
    await later(100);
  }
}

/** A sandbox and its spare. */
const RESTING_CHILDREN = 2;

/** The process and all below it that have not ended. */
async function descendantsOf(pid: number): Promise<Process[]> {
  const own = await read(pid);
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const started = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  );
  const children = started
    .join(' ')
    .trim()
    .split(/\s+/)
    .filter((each) => each !== '');
  return [...own, ...(await Promise.all(children.map((each) => descendantsOf(Number(each))))).flat()];
}

async function read(pid: number): Promise<Process[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  if (text === '') return [];
  const [state, ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [user, system, pages] = [10, 11, 20].map((i) => Number(fields[i]));
  // A zombie has ended; only its parent has not noticed.
  if (state === 'Z') return [];
  return [{ pid, cpu: ((user ?? 0) + (system ?? 0)) / TICKS_PER_SECOND, memory: (pages ?? 0) * PAGE_BYTES }];
}

export const isAlive = async (pid: number): Promise<boolean> => (await read(pid)).length > 0;

/** Watches how much memory the service takes at most. */
export class Peak implements Disposable {
  readonly #before: Footprint;
  readonly #timer: NodeJS.Timeout;
  #activator = 0;
  #child = 0;

  constructor(before: Footprint, pid: number | (() => number)) {
    this.#before = before;
    this.#timer = setInterval(() => {
      void descendantsOf(typeof pid === 'number' ? pid : pid()).then(([own, ...others]) => {
        this.#activator = Math.max(this.#activator, own?.memory ?? 0);
        this.#child = Math.max(this.#child, ...others.map((each) => each.memory));
      });
    }, POLL_MS);
  }

  /** `activator`: bytes beside what it had before; `child`: bytes of any one process that it started. */
  assertWithin(most: { activator: number; child: number }): void {
    const problems = [
      ...grown('the activator', this.#before.memory, this.#activator, most.activator),
      ...(this.#child > most.child ? [`a child process: ${megabytes(this.#child)}`] : []),
    ];
    assert.deepEqual(problems, []);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

const POLL_MS = 100;

/** How far above the start a service may be when all is over. */
export interface Allowance {
  /** Bytes of the activator. "The activator process's own RSS grows < 50 MB over 1,000 hostile calls." */
  readonly memory?: number;
  /** Bytes of all processes together. */
  readonly treeMemory?: number;
}

const TIMEOUT_MS = 60_000;
/** Share of one core that a service which does nothing may use. */
const IDLE_SHARE = 0.15;

/** Waits until the service is back where it was, and fails with what is not. */
export async function assertBackTo(before: Footprint, pid: number, allowance: Allowance = {}): Promise<void> {
  const { memory = 50 * MEGABYTE, treeMemory = 300 * MEGABYTE } = allowance;
  const until = Date.now() + TIMEOUT_MS;
  for (;;) {
    const [first, began] = [await footprintOf(pid), performance.now()];
    await later(500);
    const last = await footprintOf(pid);
    const share = (last.cpu - first.cpu) / ((performance.now() - began) / 1000);
    const problems = [
      ...(share > IDLE_SHARE ? [`${share.toFixed(2)} of a core is in use`] : []),
      ...(last.children.length > before.children.length
        ? [`${last.children.length} child processes, at first ${before.children.length}`]
        : []),
      ...(last.handles > before.handles ? [`${last.handles} open handles, at first ${before.handles}`] : []),
      ...grown('the activator', before.memory, last.memory, memory),
      ...grown('all processes', before.treeMemory, last.treeMemory, treeMemory),
    ];
    if (problems.length === 0) return;
    assert.ok(Date.now() < until, `The service is not back where it was: ${problems.join('; ')}`);
  }
}

const grown = (whose: string, from: number, to: number, allowed: number): string[] =>
  to - from > allowed ? [`${whose}: ${megabytes(to)}, at first ${megabytes(from)}`] : [];
const megabytes = (bytes: number): string => `${Math.round(bytes / MEGABYTE)} MB`;
