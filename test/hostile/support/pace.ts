/**
 * How much slower than alone the machine runs. Others may keep its cores busy while a test measures time: a process
 * that does a little work over and over tells how much longer than its processor time that takes, and promises of
 * time are measured by that clock.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

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

export class Pace implements Disposable {
  readonly #end: () => void;
  readonly #samples: { readonly began: number; readonly took: number; readonly stretch: number }[] = [];

  constructor() {
    const child = spawn(process.execPath, ['-e', WORK], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#end = () => void child.kill('SIGKILL');
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [began = 0, took = 0, used = 1] = line.split(' ').map(Number);
      this.#samples.push({ began, took, stretch: Math.min(MOST, Math.max(1, took / used)) });
    });
  }

  /** Milliseconds that `promised` ones may have taken for what began then and took so long. */
  allowed(promised: number, began: number, took: number): number {
    // A sample before and one after are as near as those between.
    const near = this.#samples.filter(
      (each) => each.began <= began + took + NEAR && each.began + each.took >= began - NEAR,
    );
    return Math.ceil(promised * Math.max(1, ...near.map((each) => each.stretch)));
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}

const NEAR = 500;
