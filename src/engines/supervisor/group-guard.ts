/** Ends a group of processes when the activator is killed: its head dies with its parent by itself, what that started does not. */
import { spawn } from 'node:child_process';

const SHELL = '/bin/sh';
/** Waits for the end of a pipe that the activator alone holds; a signal for the group of the activator is not for it. */
const SCRIPT = `trap '' INT TERM HUP; read -r _; kill -KILL "-$0"`;

/** A shell of one megabyte, which watches over one group. */
export class GroupGuard implements Disposable {
  readonly #end: () => void;

  constructor(group: number) {
    const shell = spawn(SHELL, ['-c', SCRIPT, String(group)], {
      env: {},
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    // Where there is no shell, nobody watches.
    shell.on('error', () => undefined);
    shell.stdin.on('error', () => undefined);
    shell.unref();
    this.#end = () => shell.kill('SIGKILL');
  }

  /** The group has ended, and its number may be that of another. */
  [Symbol.dispose](): void {
    this.#end();
  }
}
