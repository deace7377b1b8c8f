/**
 * Tries what comes by standard input in a process that is started exactly as a javascript sandbox is, and prints a line
 * for each result: `node run-sandbox.ts <mode>`. A program of its own, since it may be started as another user.
 */
import { readFileSync } from 'node:fs';
import { sandboxCommand, sandboxProgram } from '../../../src/engines/javascript/program.ts';
import { ChildProgram } from '../../../src/engines/supervisor/process.ts';
import type { Command } from '../../../src/engines/supervisor/process.ts';
import { koffiPath } from './koffi.ts';
import { kernelOf } from './modes.ts';
import type { Mode } from './modes.ts';

const RESULT_KIND = 250;
/** When all were tried; the walls let it go nowhere by itself. */
const END = '["",null]';
const MOST_MILLISECONDS = 30_000;

type Modules = [url: string, source: string][];

/** The same command, whose program is taken over when it is ready. */
function takenOver(command: Command, ways: string): Command {
  const input = JSON.parse(command.input) as { readonly modules: Modules };
  const [main = ['']] = input.modules;
  const code = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
  const taker = code('./in-sandbox.mjs')
    .replace('(KOFFI)', `(${JSON.stringify(koffiPath)})`)
    .replace('import(MAIN)', `import(${JSON.stringify(main[0])})`)
    .replace('(ATTEMPTS)', `(${ways})`);
  const modules: Modules = [
    [new URL('./in-sandbox.mjs', import.meta.url).href, taker],
    [new URL('./attempt.mjs', import.meta.url).href, code('./attempt.mjs')],
    ...input.modules,
  ];
  return { ...command, input: JSON.stringify({ ...input, modules }) };
}

const kernel = await kernelOf(process.argv[2] as Mode);
const taken = takenOver(sandboxCommand(sandboxProgram(), kernel), readFileSync(0, 'utf8'));
const sandbox = new ChildProgram(
  taken,
  {
    onFrame(kind, _a, _b, text) {
      if (kind !== RESULT_KIND) return;
      if (text === END) sandbox.kill();
      else process.stdout.write(`${text}\n`);
    },
    mostOf: () => Infinity,
    onExit(reason) {
      clearTimeout(timer);
      if (reason !== 'SIGKILL' && reason !== 'SIGSYS') process.stderr.write(`The sandbox ended: ${reason}\n`);
    },
  },
  kernel,
);
const timer = setTimeout(() => sandbox.kill(), MOST_MILLISECONDS);
