/**
 * How far a shelf is: the one row of `state`. Each change writes a random mark beside its number, which is the revision
 * and the generation together. A reader that remembers the last mark it saw finds out whether the database before it
 * still goes on from there, or went another way, as a standby does that lacked changes when it took over.
 */
import type { Dialect, Query, Row } from './database.ts';

export interface State {
  /** Grows with each change of what is on the shelf. */
  readonly revision: number;
  /** Grows with each change of what is meant to be active. */
  readonly generation: number;
  /** Of the last changes, the latest last. */
  readonly marks: readonly string[];
}

export interface StateRow extends Row {
  readonly revision: number;
  readonly generation: number;
  /** JSON. */
  readonly marks: string;
}

/** The last change that a reader knows. */
export interface Known {
  readonly number: number;
  readonly mark: string | undefined;
}

/** Marks that are kept: a reader that is further behind reads all rows. */
const MOST_MARKS = 64;

export const stateOf = ({
  revision,
  generation,
  marks,
}: Pick<StateRow, 'revision' | 'generation' | 'marks'>): State => ({
  revision,
  generation,
  marks: JSON.parse(marks) as string[],
});

/** In an exclusive transaction. */
export async function readState(query: Query, { schema }: Dialect): Promise<State> {
  const { rows } = await query<StateRow>(`SELECT revision, generation, marks FROM ${schema}state`);
  const [row] = rows;
  if (row === undefined) throw new Error('the database of the shelf has no state');
  return stateOf(row);
}

/** So many changes more of the shelf, or of what is meant to be active. In an exclusive transaction. @returns the state after them. */
export async function advance(
  query: Query,
  { schema }: Dialect,
  state: State,
  what: 'revision' | 'generation',
  many = 1,
): Promise<State> {
  const more = Array.from({ length: Math.min(many, MOST_MARKS) }, () => crypto.randomUUID().slice(0, 8));
  const marks = [...state.marks, ...more].slice(-MOST_MARKS);
  const next = { ...state, [what]: state[what] + many, marks };
  await query(`UPDATE ${schema}state SET revision = $1, generation = $2, marks = $3`, [
    next.revision,
    next.generation,
    JSON.stringify(marks),
  ]);
  return next;
}

export const lastOf = ({ revision, generation, marks }: State): Known => ({
  number: revision + generation,
  mark: marks.at(-1),
});

/** Whether a database goes on from the last change that is known of it; undefined where that is too long ago to be known. */
export function continues(state: State, known: Known): boolean | undefined {
  const ahead = lastOf(state).number - known.number;
  if (ahead < 0) return false;
  if (known.mark === undefined) return known.number === 0 || ahead === 0 ? true : undefined;
  const mark = state.marks.at(-1 - ahead);
  return mark === undefined ? undefined : mark === known.mark;
}
