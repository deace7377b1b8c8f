/** Brings the tables of a shelf to what this program knows, step by step (`tables.ts`); never back. */
import { startRefused } from '../../lib/errors.ts';
import type { Database, Dialect, Query, Row } from './database.ts';
import { lives } from './nodes.ts';
import { STEPS, type Step } from './tables.ts';
import { ASIDE, copyTables, isOfVersion01, putTablesAside } from './upgrade/take-over-tables.ts';

const PROGRAM = 'kgrid-activator';

interface StepRow extends Row {
  readonly step: number;
  readonly program: string;
  /** Milliseconds since 1970. */
  readonly prepared: number;
  readonly finished: number | null;
}

export interface SchemaStatus {
  readonly steps: readonly Pick<StepRow, 'step' | 'prepared' | 'finished'>[];
  /** How many steps this program knows. */
  readonly known: number;
  /** Whether version 0.1 made it, and the next start takes it over. */
  readonly isOfVersion01: boolean;
  /** Of activators that run on it. */
  readonly nodes: readonly { readonly name: string; readonly version: string }[];
}

/**
 * Prepares the steps that are missing, and finishes them where no activator runs on the database. Where all of them are
 * there, it only reads. @param where as people know it. @throws startRefused for tables that this program cannot use.
 */
export async function migrate(database: Database, where: string, steps = STEPS): Promise<void> {
  const { dialect, isShared } = database;
  const found = await look(database.query, dialect, where, steps);
  if (found.length >= steps.length) return;
  await database.changeTables(async (query) => {
    const isOld = await isOfVersion01(query, dialect, where);
    if (found.length > 0) await keepOut(query, dialect);
    if (isOld) await putTablesAside(query, dialect, where);
    await prepare(query, dialect, where, steps);
    if (isOld) await copyTables(query, database);
    if (!isShared || (await nodesOf(query, dialect)).length === 0) await finish(query, dialect, steps);
  });
}

/** Finishes all steps that this program knows, and prepares them first. @throws startRefused as `migrate`. */
export async function finishSchema(database: Database, where: string, steps = STEPS): Promise<void> {
  await migrate(database, where, steps);
  if ((await look(database.query, database.dialect, where, steps)).every(({ finished }) => finished !== null)) return;
  await database.changeTables(async (query) => {
    await keepOut(query, database.dialect);
    await finish(query, database.dialect, steps);
  });
}

/**
 * For a node that joins: whether a step was finished since it looked that it does not know. In the transaction in which it
 * joins: a finish before that is seen here, and one after it sees the node. @throws startRefused.
 */
export async function requireKnown(
  query: Query,
  { schema }: Dialect,
  where: string,
  known = STEPS.length,
): Promise<void> {
  const { rows } = await query<{ finished: number }>(
    `SELECT coalesce(max(step), 0) AS finished FROM ${schema}schema_step WHERE finished IS NOT NULL`,
  );
  const finished = rows[0]?.finished ?? 0;
  if (finished > known) throw refused(where, ofNewer(finished, known));
}

/** Reads only. @throws startRefused as `migrate`. */
export async function schemaStatus(database: Database, where: string, steps = STEPS): Promise<SchemaStatus> {
  const { query, dialect } = database;
  const found = await look(query, dialect, where, steps);
  return {
    ...{ steps: found, known: steps.length, isOfVersion01: await isOfVersion01(query, dialect, where) },
    nodes: found.length === 0 ? [] : await nodesOf(query, dialect),
  };
}

/** Nobody joins, or changes anything, until the tables are changed. */
const keepOut = async (query: Query, { schema, forUpdate }: Dialect): Promise<unknown> =>
  query(`SELECT 1 AS held FROM ${schema}state${forUpdate}`);

const refused = (where: string, why: string): Error => startRefused(`--shelf: the database of ${where} ${why}`);

const ofNewer = (finished: number, known: number): string =>
  `is of a newer activator (its schema has ${String(finished)} steps, this program knows ${String(known)}): start that one, or restore a backup from before the upgrade`;

async function prepare(query: Query, dialect: Dialect, where: string, steps: readonly Step[]): Promise<void> {
  const { schema, types, tableOptions, now, ownTables } = dialect;
  // Another activator may have done it since.
  const done = (await look(query, dialect, where, steps)).length;
  if (done === 0) {
    await query(
      `CREATE TABLE ${schema}schema_step (step ${types.integer} PRIMARY KEY, program ${types.text} NOT NULL,
        prepared ${types.integer} NOT NULL, finished ${types.integer})${tableOptions}`,
    );
    for (const statement of ownTables) await query(statement);
  }
  for (const [index, step] of steps.entries()) {
    if (index < done) continue;
    for (const statement of step.prepare(dialect)) await query(statement);
    await query(`INSERT INTO ${schema}schema_step (step, program, prepared) VALUES ($1, $2, ${now})`, [
      index + 1,
      PROGRAM,
    ]);
  }
}

async function finish(query: Query, dialect: Dialect, steps: readonly Step[]): Promise<void> {
  const { schema, now } = dialect;
  const { rows } = await query<{ step: number }>(
    `SELECT step FROM ${schema}schema_step WHERE finished IS NULL AND step <= $1 ORDER BY step`,
    [steps.length],
  );
  for (const { step } of rows) {
    for (const statement of steps[step - 1]?.finish?.(dialect) ?? []) await query(statement);
    await query(`UPDATE ${schema}schema_step SET finished = ${now} WHERE step = $1`, [step]);
  }
}

/** The activators that run on it. */
async function nodesOf(query: Query, dialect: Dialect): Promise<SchemaStatus['nodes']> {
  const sql = `SELECT name, version FROM ${dialect.schema}node WHERE ${lives(dialect)} ORDER BY name`;
  return (await query<{ name: string; version: string }>(sql)).rows;
}

/** The steps that are prepared; none where there is nothing yet, or what version 0.1 made. @throws startRefused. */
async function look(
  query: Query,
  dialect: Dialect,
  where: string,
  steps: readonly Step[],
): Promise<readonly StepRow[]> {
  const { rows: tables } = await query<{ name: string }>(dialect.tables);
  const names = new Set(tables.map(({ name }) => name).filter((name) => !name.startsWith(ASIDE)));
  if (names.size === 0 || (await isOfVersion01(query, dialect, where))) return [];
  const rows = names.has('schema_step')
    ? (await query<StepRow>(`SELECT * FROM ${dialect.schema}schema_step ORDER BY 1`)).rows
    : [];
  if (rows.length === 0 || rows.some(({ program }) => program !== PROGRAM))
    throw refused(where, 'belongs to another program: name another place for the shelf, such as another --fleet');
  const finished = rows.findLast((row) => row.finished !== null)?.step ?? 0;
  if (finished > steps.length) throw refused(where, ofNewer(finished, steps.length));
  const missing = tablesOf(steps.slice(0, rows.length), dialect, finished).filter((name) => !names.has(name));
  if (rows.at(-1)?.step !== rows.length || missing.length > 0)
    throw refused(
      where,
      `is not whole (${missing.length > 0 ? `missing: ${missing.join(', ')}` : 'steps are not noted'}): restore a backup, or name another place for the shelf, such as another --fleet`,
    );
  return rows;
}

/** The tables that steps make, without those that finished ones take away. */
function tablesOf(steps: readonly Step[], dialect: Dialect, finished: number): readonly string[] {
  const names = (statements: readonly string[], verb: string): string[] =>
    statements.flatMap((each) => new RegExp(`^${verb} TABLE (?:"[^"]+"\\.)?(\\w+)`).exec(each)?.[1] ?? []);
  const gone = new Set(
    names(
      steps.slice(0, finished).flatMap((step) => step.finish?.(dialect) ?? []),
      'DROP',
    ),
  );
  const made = [...dialect.ownTables, ...steps.flatMap((step) => step.prepare(dialect))];
  return names(made, 'CREATE').filter((name) => !gone.has(name));
}
