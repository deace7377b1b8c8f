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

/** What the databases say in different words. */
export interface Dialect {
  /** In front of the name of a table: the schema with its dot, or nothing. */
  readonly schema: string;
  /** The milliseconds since 1970 of the database's clock. */
  readonly now: string;
  /** A table with the column `value`: the texts of a JSON array. */
  texts(parameter: string): string;
  /** Types of columns. */
  readonly types: { readonly text: string; readonly integer: string; readonly bytes: string };
  /** Follows the list of columns where a table is made. */
  readonly tableOptions: string;
  /** Follows a SELECT whose rows nobody else may change until the transaction ends. */
  readonly forUpdate: string;
}

export interface Transaction {
  readonly query: Query;
}

export interface Database extends AsyncDisposable {
  readonly dialect: Dialect;
  /** One statement by itself. */
  readonly query: Query;
  /**
   * Does all of the work or nothing of it, durable when this returns. The work may run again where the database says so.
   * @throws what the work throws, after which nothing is changed.
   */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
}
