import { appendFileSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Id, State } from './generations.ts';

/** A change that is made to the shelf; `generation` is what it brings. */
export type Change =
  | { readonly op: 'import'; readonly id: Id; readonly generation: number }
  /** Of what was deleted or replaced last, which is that generation. */
  | { readonly op: 'restore'; readonly id: Id; readonly generation: number }
  | { readonly op: 'metadata'; readonly id: Id; readonly generation: number }
  | { readonly op: 'remove'; readonly id: Id };

type Line =
  | { readonly is: 'begun' | 'acknowledged'; readonly change: Change }
  /** What a check found: one of the states that were possible. */
  | { readonly is: 'found'; readonly id: Id; readonly state: State | null };

/** Which states of each KO are possible: two where a change was begun and neither acknowledged nor checked since. */
export type Possible = ReadonlyMap<Id, readonly (State | null)[]>;

/** A file that outlives the process which writes it, as acknowledgements to a client would. */
export class Journal {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  begun(change: Change): void {
    this.#append({ is: 'begun', change });
  }

  acknowledged(change: Change): void {
    this.#append({ is: 'acknowledged', change });
  }

  found(id: Id, state: State | null): void {
    this.#append({ is: 'found', id, state });
  }

  possible(): Possible {
    const states = new Map<Id, readonly (State | null)[]>();
    for (const line of this.#lines()) {
      if (line.is === 'found') {
        states.set(line.id, [line.state]);
        continue;
      }
      const { id } = line.change;
      const [before = null] = states.get(id) ?? [];
      const after = apply(before, line.change);
      states.set(id, line.is === 'begun' ? [before, after] : [after]);
    }
    return states;
  }

  /** What the last change of each KO, if it was made, deleted or replaced. */
  previous(): ReadonlyMap<Id, State> {
    const [now, previous] = [new Map<Id, State | null>(), new Map<Id, State>()];
    for (const line of this.#lines()) {
      const id = line.is === 'found' ? line.id : line.change.id;
      const before = now.get(id) ?? null;
      if (line.is === 'found') {
        now.set(id, line.state);
        if (isDeepStrictEqual(line.state, previous.get(id))) previous.delete(id);
      } else if (line.is === 'begun') {
        if (before === null) previous.delete(id);
        else previous.set(id, before);
      } else now.set(id, apply(before, line.change));
    }
    return previous;
  }

  /** How many changes were acknowledged. */
  acknowledgements(): number {
    return this.#lines().filter((line) => line.is === 'acknowledged').length;
  }

  /** The highest generation so far. */
  lastGeneration(): number {
    const generations = this.#lines().map((line) =>
      'change' in line && 'generation' in line.change ? line.change.generation : 0,
    );
    return Math.max(0, ...generations);
  }

  #append(line: Line): void {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }

  #lines(): Line[] {
    const lines = readFileSync(this.#path, { encoding: 'utf8', flag: 'a+' }).split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Line);
  }
}

function apply(before: State | null, change: Change): State | null {
  if (change.op === 'remove') return null;
  if (change.op === 'import' || change.op === 'restore')
    return { files: change.generation, metadata: change.generation };
  return before && { ...before, metadata: change.generation };
}
