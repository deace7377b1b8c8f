/** A node becomes one of its fleet. */
import { lives } from '../shelf/store/node-lives.ts';
import type { Transaction } from '../shelf/store/database.ts';
import type { SharedShelf } from '../shelf/shared-shelf.ts';
import type { ActiveTable } from './active-table.ts';
import type { NodeFacts } from './heartbeat.ts';
import { JOINING } from './nodes.ts';

export interface Entered {
  /** With which this node begins. */
  readonly generation: number;
  /** Under which it is known. */
  readonly name: string;
  readonly joined: number;
  /** It activates what lies on the shelf. */
  readonly isFirst: boolean;
}

/** Machines may have the same name. */
export const ownName = (name: string, id: string): string => `${name.split('#')[0] ?? ''}#${id.slice(0, 4)}`;

/**
 * The first activates what lies on the shelf; joining others changes nothing. Who has the database for itself is always
 * the first, and no node for others to see. @throws an error of the database.
 */
export function enterFleet(
  shelf: Pick<SharedShelf, 'database' | 'node' | 'reached'>,
  table: ActiveTable,
  { name: wanted, address, version, settings }: Omit<NodeFacts, 'id' | 'joined'>,
): Promise<Entered> {
  const { database } = shelf;
  const { schema, now } = database.dialect;
  const id = shelf.node.value;
  const activatesShelf = async (transaction: Transaction): Promise<number> => {
    const generation = await table.orderIn(transaction, 'reload', { what: 'all' });
    await transaction.query(`UPDATE ${schema}state SET started = 1`);
    return generation;
  };
  const work = async (transaction: Transaction): Promise<Entered> => {
    if (!database.isShared)
      return { generation: await activatesShelf(transaction), name: wanted, joined: 0, isFirst: true };
    const { query } = transaction;
    // One after the other, so that of several that start at a time one is the first.
    const { rows } = await query<{ started: number; generation: number }>(
      `SELECT started, generation FROM ${schema}state`,
    );
    // What it was before it was started again, or another node, of whose state folder this one has a copy.
    const before = await query<{ another: number }>(
      `DELETE FROM ${schema}node WHERE id = $1
        RETURNING CASE WHEN ${lives(database.dialect)} AND address <> $2 THEN 1 ELSE 0 END AS another`,
      [id, address],
    );
    const others = await query<{ name: string }>(`SELECT name FROM ${schema}node WHERE ${lives(database.dialect)}`);
    const isAlone = others.rows.length === 0 && before.rows[0]?.another !== 1;
    const isFirst = rows[0]?.started !== 1 || isAlone;
    const name = others.rows.some((each) => each.name === wanted) ? ownName(wanted, id) : wanted;
    const generation = isFirst ? await activatesShelf(transaction) : (rows[0]?.generation ?? 0);
    const { rows: entered } = await query<{ joined: number }>(
      `INSERT INTO ${schema}node (id, name, address, version, settings, revision, generation, failures, joined, heartbeat)
        VALUES ($1, $2, $3, $4, $5, $6, $7, '[]', ${now}, ${now}) RETURNING joined`,
      [id, name, address, version, JSON.stringify(settings), shelf.reached.revision, JOINING],
    );
    return { generation, name, joined: entered[0]?.joined ?? 0, isFirst };
  };
  return database.transaction(work, { isExclusive: true });
}
