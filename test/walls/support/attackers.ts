/** Knowledge objects that attack by their code. */
import { readFile } from 'node:fs/promises';
import { runtimeKo } from '../../runtimes/support/runtime-ko.ts';
import type { Target } from './attempt.ts';
import { outcomesOf } from './outcomes.ts';
import type { Result } from './outcomes.ts';
import type { Attacker, Door } from './services.ts';

const text = (name: string): Promise<string> => readFile(new URL(name, import.meta.url), 'utf8');

/** Answers where it is, and tries what it gets otherwise. */
const PYTHON = `
import __main__, tempfile
import attempt

def run(ways):
    if ways == ["where"]:
        return {"file": __file__, "program": __main__.__file__, "scratch": tempfile.gettempdir()}
    return attempt.attempt(ways)
`;

export const pythonCode: Attacker = {
  engine: 'python',
  async begin(door) {
    const code = { 'src/main.py': PYTHON, 'src/attempt.py': await text('./attempt.py') };
    const ko = runtimeKo({ naan: door.naan, name: 'attacker', engine: 'python', code });
    await activated(door, ko);
    return {
      own: (await door.call(ko, ['where'])) as Target['own'],
      outcomes: (ways) =>
        outcomesOf(ways, async (left) => {
          const lines: [string, Result | undefined][] = [];
          for (const [name, each] of Object.entries(left)) lines.push([name, await resultOf(door.call(ko, each))]);
          return lines;
        }),
    };
  },
};

async function activated(door: Door, ko: Parameters<Door['activate']>[0]): Promise<void> {
  const reason = await door.activate(ko);
  if (reason !== '') throw new Error(`It is not active: ${reason}`);
}

/** `undefined` where the code ended its process. */
async function resultOf(call: Promise<unknown>): Promise<Result | undefined> {
  try {
    return (await call) as Result;
  } catch (thrown) {
    if (thrown instanceof Error && /ended|killed|signal/i.test(thrown.message)) return undefined;
    throw thrown;
  }
}
