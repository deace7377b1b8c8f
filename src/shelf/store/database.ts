/**
 * The contract of a database that keeps a shelf. Queries are written once, in the SQL that SQLite and PostgreSQL share:
 * parameters are `$1`, `$2`, …; times are milliseconds since 1970; truth is 0 or 1; a list is one parameter, a JSON
 * array of texts. What the two say in different words is in `Dialect`.
 */

export type Value = string | number | null | Uint8Array;
export type Row = Readonly<Record<string, Value>>;

export interface Result<T extends Row> {
  readonly rows: readonly T[];
  /** Rows that were written, or that came back. */
  readonly count: number;
}

export type Query = <T extends Row = Row>(sql: string, values?: readonly Value[]) => Promise<Result<T>>;

/** What a SELECT with a condition finds, in parts, by a column in which no two rows are alike. */
export async function* pagesOf<T extends Row>(
  query: Query,
  select: string,
  column: string & keyof T,
  most: number,
  values: readonly Value[] = [],
): AsyncGenerator<readonly T[]> {
  const end = `ORDER BY ${column} LIMIT ${String(most)}`;
  const behind = `AND ${column} > $${String(values.length + 1)}`;
  let { rows } = await query<T>(`${select} ${end}`, values);
  for (;;) {
    if (rows.length > 0) yield rows;
    const last = rows.at(-1)?.[column];
    if (last === undefined || rows.length < most) return;
    ({ rows } = await query<T>(`${select} ${behind} ${end}`, [...values, last]));
  }
}

/** `($1, $2), ($3, $4)`: rows of parameters. */
export function placesOf(rows: readonly (readonly unknown[])[]): string {
  let last = 0;
  return rows.map((row) => `(${row.map(() => `$${String(++last)}`).join(', ')})`).join(', ');
}

/** What the databases say in different words. */
export interface Dialect {
  /** In front of the name of a table: the schema with its dot, or nothing. */
  readonly schema: string;
  /** The milliseconds since 1970 of the database's clock, at this moment. */
  readonly now: string;
  /** A table with the column `value`: the texts of a JSON array. */
  readonly texts: (parameter: string) => string;
  /** Types of columns. Texts are compared by their bytes. */
  readonly types: { readonly text: string; readonly integer: string; readonly bytes: string };
  /** Follows the list of columns where a table is made. */
  readonly tableOptions: string;
  /** A SELECT of the names of all tables that are there. */
  readonly tables: string;
  /** Statements that make the tables of the driver itself. */
  readonly ownTables: readonly string[];
  /** Follows a SELECT whose rows nobody else may change until the transaction ends. */
  readonly forUpdate: string;
}

export interface Transaction {
  readonly query: Query;
  /** Wakes those who follow the database in other processes, when the transaction is done. */
  readonly tellOthers: () => void;
}

export interface TransactionOptions {
  /**
   * True for what changes the shelf, what is active, or the audit: no other such transaction, of any process, runs at
   * the same time, and what it reads is the latest.
   */
  readonly isExclusive?: boolean;
}

/** Looks at what others wrote. `query` goes over a connection of its own. */
export type Look = (query: Query) => Promise<void>;

/** Keeps a process level with what others write. */
export interface Following extends AsyncDisposable {
  /** Why the last look failed. */
  readonly problem: Error | undefined;
  /** Resolves when a look that began after this call has ended. @throws Error, where it failed. */
  look(): Promise<void>;
}

export interface Database extends AsyncDisposable {
  readonly dialect: Dialect;
  /** How people may be shown where it is: without a password. */
  readonly label: string;
  /** Whether other processes may write it. */
  readonly isShared: boolean;
  /** One statement by itself, which does the same when it is done twice. @param timeout milliseconds, where it may take less time than others. */
  readonly query: <T extends Row = Row>(sql: string, values?: readonly Value[], timeout?: number) => Promise<Result<T>>;
  /**
   * Does all of the work or nothing of it, durable when this returns. The work may run again where the database says so.
   * @throws what the work throws, after which nothing is changed.
   */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** The error of the service's contract for an error of this database; anything else as it is. */
  toServiceError(thrown: unknown): unknown;
  /** Whether what failed may go well a little later, without a person's doing. */
  mayPass(thrown: unknown): boolean;
  /** Gives back what the driver keeps for itself and needs no more. */
  tidy(): Promise<void>;
  /**
   * Does all of the work or nothing of it, while nobody else changes the tables. Makes a place for them where there is none.
   * It may take long.
   */
  changeTables<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** Calls `look` each second and where the database tells that something was written; never, where nobody else writes it. */
  follow(look: Look, onWarning: (message: string, cause?: unknown) => void): Following;
}
