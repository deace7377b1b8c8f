/** A disk that a test fills and protects. */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SIZE = 2 * 2 ** 20;
/** Of a file, where the disk is not our own; bytes. */
const MOST = 50_000;

const run = (command: string, ...args: string[]): void => void execFileSync(command, args, { stdio: 'ignore' });

/** A file system of its own at a folder, where mounting is permitted; elsewhere what comes nearest. */
export class Disk implements Disposable {
  readonly own: boolean;
  readonly #path: string;
  readonly #filler: string;

  constructor(path: string) {
    this.#path = path;
    this.#filler = join(path, 'filler');
    this.own = attempt(() => run('mount', '-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', path));
    if (!this.own) this.unprotect();
  }

  /** `pid`: of the process that is to feel it. */
  fill(pid: number): void {
    if (!this.own) return run('prlimit', '--pid', String(pid), `--fsize=${MOST}:`);
    attempt(() => writeFileSync(this.#filler, Buffer.alloc(SIZE)));
  }

  free(pid: number): void {
    if (this.own) rmSync(this.#filler);
    else run('prlimit', '--pid', String(pid), '--fsize=unlimited:');
  }

  /** Nothing can be written from now on; where the disk is not our own, by a process without privileges. */
  protect(): void {
    if (!this.own) return run('chmod', '-R', 'a-w', this.#path);
    // Laid over it, since a file system on which a file is open for writing cannot be made read-only.
    run('mount', '--bind', this.#path, this.#path);
    run('mount', '-o', 'remount,bind,ro', this.#path);
  }

  unprotect(): void {
    if (this.own) run('umount', this.#path);
    else run('chmod', '-R', 'a+rwX', this.#path);
  }

  [Symbol.dispose](): void {
    if (!this.own) return this.unprotect();
    while (attempt(() => run('umount', this.#path)));
  }
}

function attempt(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
