/** The engines that a knowledge object may ask for, as its author sees them. */
import type { Engine } from '../../src/engines/engine.ts';

/** `local`: runs in the activator itself; the others need a runtime, which is started when it is needed. */
export type EngineFacts = Pick<Engine, 'name' | 'method' | 'local'>;

export const ENGINE_NAMES = ['javascript', 'node', 'python', 'resource'] as const;

export const ENGINES: ReadonlyMap<string, EngineFacts> = new Map(
  ENGINE_NAMES.map((name) => [
    name,
    { name, method: name === 'resource' ? 'get' : 'post', local: name === 'javascript' || name === 'resource' },
  ]),
);

/** The engine that was probably meant by a name that is none; a short name has less room for a slip. */
export const engineLike = (name: string): string | undefined =>
  ENGINE_NAMES.find((known) => distance(name, known) <= Math.min(MOST_TYPOS, Math.floor(name.length / 3)));

const MOST_TYPOS = 2;

/** What to know of an endpoint whose engine is none of these, though no slip of the pen either; else undefined. */
export const foreignEngine = ({ engine, path }: { engine: string; path: string }): string | undefined =>
  engine === '' || ENGINES.has(engine) || engineLike(engine) !== undefined
    ? undefined
    : `${path} asks for the engine ${engine}, which is none of ${ENGINE_NAMES.join(', ')}: it runs only where a runtime for it has registered`;

/** How many letters differ: those to insert, to leave out or to change. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const [left = 0, above = 0, both = 0] = [next[j], row[j + 1], row[j]];
      next.push(Math.min(left + 1, above + 1, both + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
