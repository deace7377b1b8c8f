/**
 * How long what is promised to take so long may take here. In the slow rings, which run at rest, little more than that:
 * a process that does a little work over and over tells how much slower than alone the machine runs, and promises are
 * measured by that clock. In every other run as long as no machine misses (`promised`), and nothing is measured.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promised } from '../../support/promised.ts';
import { inRound } from '../../support/round.ts';

/** Prints for each bit of work when it began, how long it took, and its processor time, in milliseconds. */
const WORK = `
  const work = () => {
    const [began, from] = [Date.now(), process.cpuUsage()];
    let used = 0;
    while (used < 10000) { const { user, system } = process.cpuUsage(from); used = user + system; }
    console.log(began, Date.now() - began, used / 1000);
    setTimeout(work, 100);
  };
  work();`;
/** Beyond this a test cannot tell anything. */
const MOST = 10;
/** So many times slower than alone no sandbox may come up within the limit of a call. */
const TOO_SLOW = 3;

export class Pace implements Disposable {
  readonly #end: () => void;
  readonly #samples: { readonly began: number; readonly took: number; readonly stretch: number }[] = [];

  constructor() {
    if (inRound(true, false)) {
      this.#end = () => undefined;
      return;
    }
    const child = spawn(process.execPath, ['-e', WORK], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#end = () => void child.kill('SIGKILL');
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [began = 0, took = 0, used = 1] = line.split(' ').map(Number);
      this.#samples.push({ began, took, stretch: Math.min(MOST, Math.max(1, took / used)) });
    });
  }

  /** Milliseconds that `ms` promised ones may have taken for what began then and took so long. */
  allowed(ms: number, began: number, took: number): number {
    return Math.ceil(promised(ms) * this.#stretch(began, took));
  }

  /** Whether it was so slow then that calls may be told to try again, or come to their limit. */
  isTooSlow(began: number, took: number): boolean {
    return inRound(true, this.#stretch(began, took) > TOO_SLOW);
  }

  #stretch(began: number, took: number): number {
    // A sample before and one after are as near as those between.
    const near = this.#samples.filter(
      (each) => each.began <= began + took + NEAR && each.began + each.took >= began - NEAR,
    );
    return Math.max(1, ...near.map((each) => each.stretch));
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}

const NEAR = 500;
