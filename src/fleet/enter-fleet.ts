/** A node becomes one of its fleet. */
import { LIVES } from '../shelf/postgres/node-lives.ts';
import type { SharedShelf } from '../shelf/shared-shelf.ts';
import type { ActiveTable } from './active-table.ts';
import type { NodeFacts } from './heartbeat.ts';
import { JOINING } from './nodes.ts';

export interface Entered {
  /** With which this node begins. */
  readonly generation: number;
  /** Under which it is known. */
  readonly name: string;
  readonly joined: string;
  /** It activates what lies on the shelf. */
  readonly isFirst: boolean;
}

/** Machines may have the same name. */
export const ownName = (name: string, id: string): string => `${name.split('#')[0] ?? ''}#${id.slice(0, 4)}`;

/** The first activates what lies on the shelf; joining others changes nothing. @throws DatabaseError. */
export function enterFleet(
  shelf: SharedShelf,
  table: ActiveTable,
  { name: wanted, address, version, settings }: Omit<NodeFacts, 'id' | 'joined'>,
): Promise<Entered> {
  const { database } = shelf;
  const { schema } = database;
  const id = shelf.node.value;
  return database.transaction(async (transaction) => {
    const { query } = transaction;
    // One after the other, so that of several that start at a time one is the first.
    const { rows } = await query<{ started: boolean }>(`SELECT started FROM ${schema}.state FOR UPDATE`);
    // What it was before it was started again, or another node, of whose state folder this one has a copy.
    const before = await query(
      `DELETE FROM ${schema}.node WHERE id = $1 RETURNING ${LIVES} AND address <> $2 AS "isAnother"`,
      [id, address],
    );
    const others = await query<{ name: string }>(`SELECT name FROM ${schema}.node WHERE ${LIVES}`);
    const isAlone = others.rows.length === 0 && before.rows[0]?.['isAnother'] !== true;
    const isFirst = rows[0]?.started !== true || isAlone;
    const name = others.rows.some((each) => each.name === wanted) ? ownName(wanted, id) : wanted;
    const generation = isFirst
      ? await table.orderIn(transaction, 'reload', { what: 'all' })
      : await table.generation(query);
    if (isFirst) await query(`UPDATE ${schema}.state SET started = true`);
    const { rows: entered } = await query<{ joined: string }>(
      `INSERT INTO ${schema}.node (id, name, address, version, settings, revision, generation)
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING joined::text`,
      [id, name, address, version, JSON.stringify(settings), await shelf.revision(), JOINING],
    );
    return { generation, name, joined: entered[0]?.joined ?? '', isFirst };
  });
}
