/** The folders in which workers may write, one for each: made with it, watched, and removed after it. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, readFileSync } from 'node:fs';
import { lstat, opendir, readdir, chmod, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { mapBounded } from '../../lib/fair-queue.ts';
import { uptime } from '../../lib/time.ts';
import { codeOf } from './packages/errors.ts';
import type { WorkerPolicy } from './worker-policy.ts';

/** Times as long as the last look took: thousands of small files must not keep the service busy. */
const RESTS = 4;
/** Process ids are those of one machine or container. */
const NAME = `scratch-${hostname()}-`;

export class ScratchFolders {
  readonly #folder: string;
  readonly #policy: Pick<WorkerPolicy, 'scratchBytes' | 'scratchFiles'>;
  /** With the processes that they belong to. */
  readonly #pids = new Map<string, number | undefined>();
  #checking = false;
  /** Time before which nothing is looked at. */
  #restsUntil = 0;

  readonly #now: () => number;

  /** `folder`: others may have theirs there too. */
  constructor(folder: string, policy: Pick<WorkerPolicy, 'scratchBytes' | 'scratchFiles'>, now = uptime) {
    this.#now = now;
    this.#folder = folder;
    this.#policy = policy;
  }

  get folders(): readonly string[] {
    return [...this.#pids.keys()];
  }

  make(): string {
    const folder = join(this.#folder, `${NAME}${process.pid}-${randomUUID()}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#pids.set(folder, undefined);
    return folder;
  }

  belongsTo(folder: string, pid: number): void {
    if (this.#pids.has(folder)) this.#pids.set(folder, pid);
  }

  /** Never rejects: what cannot be removed goes at the next start. */
  remove(folder: string): void {
    this.#pids.delete(folder);
    removeTree(folder).catch(() => undefined);
  }

  /** At once, for whoever ends now. */
  removeAll(): void {
    for (const folder of this.#pids.keys()) {
      try {
        rmSync(folder, { recursive: true, force: true });
      } catch {
        // Its worker has not ended yet: it goes at the next start.
      }
    }
    this.#pids.clear();
  }

  /** Removes what processes left that were killed. Before the first is made. Never rejects. */
  async clear(): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const pid = name.startsWith(NAME) ? Number.parseInt(name.slice(NAME.length), 10) : undefined;
      if (pid === undefined || (pid !== process.pid && isAlive(pid))) continue;
      await removeTree(join(this.#folder, name)).catch(() => undefined);
    }
  }

  /** Tells of workers that wrote more than they may. Never rejects. */
  async check(onTooMuch: (pid: number, reason: string) => void): Promise<void> {
    const began = this.#now();
    if (this.#checking || began < this.#restsUntil) return;
    this.#checking = true;
    for (const [folder, pid] of this.#pids) {
      const problem = await this.#problemOf(folder);
      if (problem !== undefined && pid !== undefined) onTooMuch(pid, problem);
    }
    this.#checking = false;
    const ended = this.#now();
    this.#restsUntil = ended + (ended - began) * RESTS;
  }

  async #problemOf(folder: string): Promise<string | undefined> {
    const { scratchBytes, scratchFiles } = this.#policy;
    try {
      const found = await filesIn(folder, scratchFiles);
      if (found === undefined) return `The knowledge object wrote more than ${scratchFiles} temporary files`;
      if ((await bytesOf(found)) <= scratchBytes) return undefined;
      return `The knowledge object wrote more than ${scratchBytes / 2 ** 20} MB of temporary files`;
    } catch (thrown) {
      const code = codeOf(thrown) ?? '';
      if (!HIDDEN.includes(code)) return undefined;
      return `The knowledge object made temporary files that cannot be counted: ${code}`;
    }
  }
}

/** Of a folder that its owner may not list, and of one that lies deeper than a path may be long. */
const HIDDEN = ['EACCES', 'ENAMETOOLONG'];

/** What was there a moment ago may be gone. */
function unlessHidden(thrown: unknown): undefined {
  if (HIDDEN.includes(codeOf(thrown) ?? '')) throw thrown;
  return undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Their paths; undefined where there are more files and folders than `most`. */
async function filesIn(folder: string, most: number): Promise<string[] | undefined> {
  const files: string[] = [];
  const folders = [folder];
  let found = 0;
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = await opendir(next).catch(unlessHidden);
    for await (const entry of entries ?? []) {
      if (++found > most) return undefined;
      (entry.isDirectory() ? folders : files).push(join(next, entry.name));
    }
  }
  return files;
}

/** Of which a system counts the blocks of a file: one with holes is larger than what it takes. */
const BLOCK_BYTES = 512;
const AT_ONCE = 64;

async function bytesOf(files: readonly string[]): Promise<number> {
  let blocks = 0;
  await mapBounded(files, AT_ONCE, async (file) => {
    // Not in one expression, which would take the sum as it was before the wait.
    const found = await lstat(file).catch(unlessHidden);
    blocks += found?.blocks ?? 0;
  });
  return blocks * BLOCK_BYTES;
}

/** Behind the name of the program, which is in brackets and may hold any character. */
const NUMBER_OF_THREADS = 17;

/** Tells of processes that have more threads than they may. */
export function checkThreads(
  pids: readonly number[],
  most: number,
  onTooMany: (pid: number, reason: string) => void,
): void {
  for (const pid of pids)
    if (threadsOf(pid) > most) onTooMany(pid, `The knowledge object started more than ${most} threads`);
}

/** 0 where the system does not tell, or the process has ended. */
function threadsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ');
    return Number(fields?.[NUMBER_OF_THREADS] ?? 0);
  } catch {
    return 0;
  }
}

const OPEN = 0o700;

/** Once nothing writes there any more. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    await flatten(folder);
    await rmdir(folder);
  }
}

/** Folders are brought up to the first, so that all paths stay short, until it is empty. */
async function flatten(folder: string): Promise<void> {
  await chmod(folder, OPEN);
  const raise = async (path: string): Promise<void> => {
    // Who moves a folder must be able to write in it.
    await chmod(path, OPEN);
    await rename(path, join(folder, randomUUID()));
  };
  const removeOne = async (path: string): Promise<void> => {
    await chmod(path, OPEN);
    await forEach(path, raise);
    await rmdir(path);
  };
  while ((await forEach(folder, removeOne)) > 0);
}

/** Removes what is no folder, and gives how many folders there were. */
async function forEach(folder: string, work: (path: string) => Promise<void>): Promise<number> {
  const folders = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) folders.push(path);
    else await unlink(path);
  }
  for (const path of folders) await work(path);
  return folders.length;
}
