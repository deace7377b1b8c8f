/** Whether the rows of the shelf can be changed: rights may be revoked, and a server made read-only, while all runs. */
import type { Query, Row } from '../database.ts';
import { ASIDE } from '../upgrade/take-over-tables.ts';
import { DatabaseError } from './database-error.ts';

interface RightsRow extends Row {
  readonly ro: string;
  readonly missing: string | null;
}

const MOST_NAMED = 3;

/** @param name of the schema. @returns why not. */
export async function refusalOfChanges(query: Query, name: string): Promise<DatabaseError | undefined> {
  const { rows } = await query<RightsRow>(
    `SELECT current_setting('transaction_read_only') AS ro,
        (SELECT string_agg(wanted || ' on ' || c.relname, ', ' ORDER BY c.relname, wanted)
          FROM pg_catalog.pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS wanted
          WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r' AND c.relname <> 'schema_step'
            AND NOT starts_with(c.relname, '${ASIDE}') AND NOT has_table_privilege(c.oid, wanted)) AS missing`,
    [`"${name}"`],
  );
  const [row] = rows;
  if (row?.ro === 'on') return new DatabaseError('read-only', 'it can only be read');
  if (row === undefined || row.missing === null) return undefined;
  const missing = row.missing.split(', ');
  const more = missing.length > MOST_NAMED ? ` and ${String(missing.length - MOST_NAMED)} more` : '';
  return new DatabaseError(
    'permission',
    `its user lacks the right to ${missing.slice(0, MOST_NAMED).join(', ')}${more}`,
  );
}
