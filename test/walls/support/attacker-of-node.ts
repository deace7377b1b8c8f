/** A knowledge object in node that attacks by all that Node gives it. */
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runtimeKo } from '../../runtimes/support/runtime-ko.ts';
import type { Target } from './attempt.ts';
import { koffiPath } from './koffi.ts';
import type { Attacker } from './services.ts';

const PROGRAM = new URL('./attacker-of-node.cjs', import.meta.url);

/** `true` for what got through, else why it did not. */
export type NodeOutcomes = Readonly<Record<string, true | string>>;

/** @param aim gets what tries all on a target, once the knowledge object is active. */
export const nodeCode = (aim: (attack: (target: Target) => Promise<NodeOutcomes>) => void): Attacker => ({
  engine: 'node',
  async begin(door) {
    const code = { 'src/index.js': await readFile(PROGRAM, 'utf8') };
    const ko = runtimeKo({ naan: door.naan, name: 'attacker', engine: 'node', code });
    const reason = await door.activate(ko);
    if (reason !== '') throw new Error(`It is not active: ${reason}`);
    aim(async (target) => (await door.call(ko, { ...target, koffi: koffiPath })) as NodeOutcomes);
    return {
      own: (await door.call(ko, { where: true })) as Target['own'],
      outcomes: () => Promise.resolve(new Map()),
    };
  },
});

/** What comes of it where nobody holds it back. */
export function bareNodeOutcomes(target: Target, as: readonly string[] = []): NodeOutcomes {
  const given = JSON.stringify({ ...target, koffi: koffiPath });
  const [command = '', ...args] = [...as, process.execPath, fileURLToPath(PROGRAM), given];
  const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', cwd: '/' });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as NodeOutcomes;
}
