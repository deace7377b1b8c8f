/** Calls the code in a worker with one attempt after the other, as they come by standard input. */
import { accessSync, constants } from 'node:fs';
import { text } from 'node:stream/consumers';
import { ChildProgram } from '../../../src/engines/supervisor/process.ts';
import type { Command } from '../../../src/engines/supervisor/process.ts';
import type { Kernel } from '../../../src/confinement/walls.ts';
import { answers, kinds } from '../../../src/engines/supervisor/messages.ts';

export interface WorkerRun {
  readonly command: Command;
  readonly kernel: Kernel;
  /** Whose function takes an attempt and gives its result. */
  readonly endpoint: Readonly<Record<string, unknown>>;
  /** What stands for the program in attempts, and where that is; it stays where no user of this process could write there anyway. */
  readonly rename: readonly [string, string];
}

const MOST_MILLISECONDS = 30_000;
const ENDED = /SIG(KILL|SYS)/;

/** Prints a line when an attempt begins and one with its result; the worker is ended after the last. */
export async function runInWorker({ command, kernel, endpoint, rename }: WorkerRun): Promise<void> {
  const given = await text(process.stdin);
  const left = JSON.parse(isWritable(rename[1]) ? given.replaceAll(...rename) : given) as Record<string, unknown>;
  const names = Object.keys(left);
  const print = (name: string, result: unknown): void =>
    void process.stdout.write(`${JSON.stringify([name, result])}\n`);
  let printed = '';
  const ended = await new Promise<string>((resolve) => {
    const worker = new ChildProgram(
      command,
      {
        onFrame(kind, number, outcome, body) {
          if (kind !== kinds.answer) return;
          if (outcome === answers.result) print(names[number - 1] ?? '', JSON.parse(body));
          else printed += body;
          next(number + 1);
        },
        mostOf: () => Infinity,
        onExit: resolve,
        onOutput: (_, stream) => void stream.on('data', (chunk: Buffer) => (printed += chunk.toString())),
      },
      kernel,
    );
    const next = (number: number): void => {
      const name = names[number - 1];
      if (name === undefined) return worker.kill();
      print(name, null);
      worker.send(kinds.call, number, 1, JSON.stringify(left[name]));
    };
    worker.send(kinds.define, 0, 0, JSON.stringify(endpoint));
    next(1);
    setTimeout(() => worker.kill(), MOST_MILLISECONDS).unref();
  });
  if (!ENDED.test(ended) || printed !== '') process.stderr.write(`The worker ended: ${ended} ${printed}\n`);
}

/** By the user of this process. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
