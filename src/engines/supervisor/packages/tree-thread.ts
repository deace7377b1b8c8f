/**
 * The thread of `trees.ts`. What it looks at may change at any time and be anything: each folder is opened by the handle of
 * the one above it, nothing is followed, and nothing waits, such as for the other end of a pipe.
 */
import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync, opendirSync } from 'node:fs';
import { readSync, readlinkSync, symlinkSync, writeSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import type { InstallLimits } from './install-runs.ts';

export interface TreeJob {
  readonly from: string;
  /** It is only counted where this is left out. */
  readonly to?: string;
  readonly limits: InstallLimits;
}

export interface TreeAnswer {
  /** A sentence for the author of the knowledge object. */
  readonly problem?: string;
}

class Problem extends Error {}

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY, O_CREAT, O_EXCL } = constants;
/** Each holds a handle, and longer paths are no use to programs. */
const MOST_FOLDERS_DEEP = 100;
const MOST_PATH_CHARACTERS = 2000;
/** In which a system counts what a file takes: one with holes is larger. */
const BLOCK_BYTES = 512;
const CHUNK = Buffer.allocUnsafe(2 ** 20);
const GONE = ['ENOENT', 'ENOTDIR', 'ELOOP'];

parentPort?.on('message', (job: TreeJob) => parentPort?.postMessage(answerTo(job)));

function answerTo(job: TreeJob): TreeAnswer {
  try {
    const handle = openSync(job.from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (job.to !== undefined) mkdirSync(job.to);
    new Tree(job).take(handle, '', 0);
    return {};
  } catch (thrown) {
    if (thrown instanceof Problem) return { problem: thrown.message };
    const { code = 'unknown error' } = thrown as NodeJS.ErrnoException;
    return { problem: `Its packages cannot be ${job.to === undefined ? 'counted' : 'copied'}: ${code}` };
  }
}

class Tree {
  readonly #to: string | undefined;
  readonly #limits: InstallLimits;
  #bytes = 0;
  #files = 0;

  constructor({ to, limits }: TreeJob) {
    this.#to = to;
    this.#limits = limits;
  }

  /** Closes the handle. */
  take(handle: number, path: string, depth: number): void {
    using closing = new DisposableStack();
    closing.defer(() => closeSync(handle));
    if (depth > MOST_FOLDERS_DEEP || path.length > MOST_PATH_CHARACTERS)
      throw new Problem(`${packageOf(path)} has folders that are nested too deeply`);
    const folder = opendirSync(`/proc/self/fd/${handle}`);
    closing.defer(() => folder.closeSync());
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      if (++this.#files > this.#limits.files)
        throw new Problem(`Its packages have more than ${this.#limits.files} files`);
      const inside = join(path, entry.name);
      if (entry.name.includes('\ufffd')) throw new Problem(`${packageOf(inside)} has a file whose name is no text`);
      const at = `/proc/self/fd/${handle}/${entry.name}`;
      if (entry.isDirectory()) this.#takeFolder(at, inside, depth);
      else if (this.#to === undefined) this.#count(at);
      else this.#copy(entry, at, inside, join(this.#to, inside));
    }
  }

  #takeFolder(at: string, path: string, depth: number): void {
    const handle = this.#unlessGone(() => openSync(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (handle === undefined) return;
    if (this.#to !== undefined) mkdirSync(join(this.#to, path));
    this.take(handle, path, depth + 1);
  }

  #count(at: string): void {
    this.#add((this.#unlessGone(() => lstatSync(at))?.blocks ?? 0) * BLOCK_BYTES);
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    const most = this.#limits.bytes;
    if (this.#bytes > most) throw new Problem(`Its packages are larger than ${Math.round(most / 2 ** 20)} MB`);
  }

  /** While something still writes, what was there a moment ago may be gone. */
  #unlessGone<T>(look: () => T): T | undefined {
    try {
      return look();
    } catch (thrown) {
      if (this.#to === undefined && GONE.includes((thrown as NodeJS.ErrnoException).code ?? '')) return undefined;
      throw thrown;
    }
  }

  #copy(entry: Dirent, at: string, path: string, to: string): void {
    if (entry.isSymbolicLink()) {
      const target = readlinkSync(at);
      if (!staysInside(target, path))
        throw new Problem(`${packageOf(path)} has a link out of the installation: ${path}`);
      symlinkSync(target, to);
      return;
    }
    if (!entry.isFile()) throw new Problem(`${packageOf(path)} has something that is no file: ${path}`);
    // It may have become a pipe since.
    const from = openSync(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const status = fstatSync(from);
      if (!status.isFile()) throw new Problem(`${packageOf(path)} has something that is no file: ${path}`);
      this.#copyBytes(from, to, (status.mode & 0o100) === 0 ? 0o644 : 0o755);
    } finally {
      closeSync(from);
    }
  }

  #copyBytes(from: number, to: string, mode: number): void {
    const copy = openSync(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    try {
      for (let read = readSync(from, CHUNK); read > 0; read = readSync(from, CHUNK)) {
        this.#add(read);
        for (let written = 0; written < read;) written += writeSync(copy, CHUNK, written, read - written);
      }
    } finally {
      closeSync(copy);
    }
  }
}

/** Steps up come first and are no more than the folders that it lies in: no other link on the way changes what they mean. */
function staysInside(target: string, path: string): boolean {
  if (target.startsWith('/')) return false;
  const steps = target.split('/').filter((step) => step !== '' && step !== '.');
  const first = steps.findIndex((step) => step !== '..');
  const up = first < 0 ? steps.length : first;
  return up < path.split('/').length && !steps.slice(up).includes('..');
}

/** How its author knows what lies there. */
function packageOf(path: string): string {
  const steps = path.split('/');
  const at = steps.lastIndexOf('node_modules') + 1;
  const [first = '', second = ''] = at === 0 ? [] : steps.slice(at);
  const name = first.startsWith('@') ? `${first}/${second}` : first;
  return name === '' || name.startsWith('.') ? 'Its installation' : `The package ${name}`;
}
