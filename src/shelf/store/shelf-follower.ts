/**
 * Keeps what is held in memory level with the database: one statement tells how far the shelf is, with what changed since
 * the last look.
 */
import type { Database, Following, Query, Row } from './database.ts';
import { continues, lastOf, stateOf, type Known, type State } from './state.ts';
import { KO_COLUMNS, PAGE, type KoRow, type StoredKos } from './stored-kos.ts';

/** The state, and beside it a KO that changed; without one where nothing did. */
interface LookRow extends Row {
  readonly reached: number;
  readonly generation: number;
  readonly marks: string;
  readonly changes_from: number;
}

type ChangedRow = KoRow | (Row & { readonly id: null });

export interface ShelfFollowerOptions {
  readonly database: Database;
  readonly kos: StoredKos;
  readonly onWarning: (message: string, cause?: unknown) => void;
}

export class ShelfFollower {
  /** Hears that the shelf, or what is meant to be active, is other than before. */
  onChange: () => void = () => undefined;
  /** Hears that the database does not go on from what was known of it, once all was read again. */
  onOtherHistory: (why: string) => void = () => undefined;
  readonly #options: ShelfFollowerOptions;
  #known: Known = { number: 0, mark: undefined };
  #generation = 0;
  #following: Following | undefined;

  constructor(options: ShelfFollowerOptions) {
    this.#options = options;
  }

  get reached(): { readonly revision: number; readonly generation: number } {
    return { revision: Math.max(0, this.#options.kos.revision), generation: this.#generation };
  }

  /** Why the last look failed. */
  get problem(): Error | undefined {
    return this.#following?.problem;
  }

  /** Looks now, and from now on. @throws Error where the first look fails; it goes on all the same. */
  async start(): Promise<void> {
    const { database, onWarning } = this.#options;
    this.#following ??= database.follow((query) => this.#look(query), onWarning);
    await this.#following.look();
  }

  /** @throws Error where it fails. */
  async look(): Promise<void> {
    await this.#following?.look();
  }

  /** Takes in a change that this process has made, where nothing is missing before it. @returns whether it did. */
  take(row: KoRow, state: State): boolean {
    const { kos } = this.#options;
    if (kos.revision !== row.revision - 1) return false;
    kos.apply([row], row.revision);
    this.#note(state);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#following?.[Symbol.asyncDispose]();
  }

  async #look(query: Query): Promise<void> {
    const { database, kos } = this.#options;
    const { dialect } = database;
    const from = kos.revision < 0 ? WITHOUT_ROWS : kos.revision;
    // A change of this process may be taken in while the answer, which does not have it, is on its way.
    const known = this.#known;
    const { rows } = await query<LookRow & ChangedRow>(statement(dialect.schema), [from]);
    const [row] = rows;
    if (row === undefined) throw new Error('the database of the shelf has no state');
    const state = stateOf({ ...row, revision: row.reached });
    const goesOn = kos.revision < 0 ? undefined : continues(state, known);
    const before = this.reached;
    // Of so many rows there may be more.
    if (goesOn !== true || kos.revision < row.changes_from || rows.length === PAGE) {
      await kos.load(query, dialect, state.revision);
      this.#known = lastOf(state);
    } else {
      kos.apply(
        rows.filter((each): each is LookRow & KoRow => each.id !== null),
        state.revision,
      );
      this.#note(state);
    }
    this.#generation = state.generation;
    if (goesOn === false) this.onOtherHistory(saying(state, before));
    if (before.revision !== kos.revision || before.generation !== state.generation || goesOn === false) this.onChange();
  }

  #note(state: State): void {
    const last = lastOf(state);
    if (last.number > this.#known.number) this.#known = last;
  }
}

/** Behind any revision. */
const WITHOUT_ROWS = Number.MAX_SAFE_INTEGER;

const statement = (schema: string): string =>
  `SELECT state.revision AS reached, state.generation, state.marks, state.changes_from, changed.*
    FROM ${schema}state LEFT JOIN (SELECT ${KO_COLUMNS} FROM ${schema}ko WHERE revision > $1
      ORDER BY revision LIMIT ${String(PAGE)}) AS changed ON 1 = 1 ORDER BY changed.revision`;

const saying = (now: State, before: { readonly revision: number; readonly generation: number }): string =>
  `it is at revision ${String(now.revision)} of the shelf and generation ${String(now.generation)} of what is active, and does not go on from revision ${String(before.revision)} and generation ${String(before.generation)}, which this node knows`;
