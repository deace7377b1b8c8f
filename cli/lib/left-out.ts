/** What a push leaves out, and goes on, where it is told to keep going. */
import { CommandFailure, EXIT } from './exit.ts';
import type { Ready } from './publish.ts';
import { count } from './terminal.ts';
import type { Terminal } from './terminal.ts';

export interface NotPushed {
  readonly source: string;
  readonly cause: string;
}

export class LeftOut {
  readonly all: NotPushed[] = [];
  readonly #keepsGoing: boolean;
  readonly #terminal: Terminal;

  constructor(keepsGoing: boolean, terminal: Terminal) {
    this.#keepsGoing = keepsGoing;
    this.#terminal = terminal;
  }

  has(source: string): boolean {
    return this.all.some((each) => each.source === source);
  }

  add(source: string, cause: string): void {
    this.all.push({ source, cause });
  }

  /**
   * Does something to all of them, or, where it keeps going, to one after the other; gives those with which it went well.
   * @throws CommandFailure of the first where it does not keep going, and where the activator is out of reach.
   */
  async without(ready: readonly Ready[], work: (some: readonly Ready[]) => Promise<void>): Promise<readonly Ready[]> {
    if (!this.#keepsGoing) {
      await work(ready);
      return ready;
    }
    const well: Ready[] = [];
    for (const each of ready) {
      try {
        await work([each]);
        well.push(each);
      } catch (thrown) {
        if (!(thrown instanceof CommandFailure) || thrown.exitCode === EXIT.unreachable) throw thrown;
        this.add(each.source.label, thrown.message);
      }
    }
    return well;
  }

  print(): void {
    if (this.all.length === 0) return;
    const terminal = this.#terminal;
    terminal.print(terminal.bad(`${count(this.all.length, 'knowledge object')} not pushed:`));
    for (const { source, cause } of this.all) terminal.print(`  ${source}: ${cause}`);
  }
}
