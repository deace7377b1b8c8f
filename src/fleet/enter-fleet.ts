/** A node becomes one of its fleet. */
import { requireKnown } from '../shelf/store/schema.ts';
import { lives } from '../shelf/store/nodes.ts';
import { parseKoId } from '../knowledge-object/id.ts';
import type { Row, Transaction } from '../shelf/store/database.ts';
import type { SharedShelf } from '../shelf/store/stored-shelf.ts';
import type { ActiveTable } from './active-table.ts';
import { JOINING, type NodeFacts } from './nodes.ts';

export interface Entered {
  /** With which this node begins. */
  readonly generation: number;
  /** Under which it is known. */
  readonly name: string;
  readonly joined: number;
  /** It activates what lies on the shelf. */
  readonly isFirst: boolean;
}

interface StartState extends Row {
  /** 1 once somebody said what is meant to be active. */
  readonly started: number;
  readonly generation: number;
}

/** Machines may have the same name. */
export const ownName = (name: string, id: string): string => `${name.split('#')[0] ?? ''}#${id.slice(0, 4)}`;

/** What a start activates: what lies on the shelf, or what was active before. */
export type StartsWith = 'shelf' | 'restore';

/**
 * The first activates what lies on the shelf, or goes on with what was active; joining others changes nothing. Who has the database for itself is always
 * the first, and no node for others to see. @throws an error of the database.
 */
export function enterFleet(
  shelf: Pick<SharedShelf, 'database' | 'node' | 'reached' | 'openedAt'>,
  table: ActiveTable,
  { name: wanted, address, version, settings }: Omit<NodeFacts, 'id' | 'joined'>,
  startsWith: StartsWith = 'shelf',
): Promise<Entered> {
  const { database } = shelf;
  const { schema, now } = database.dialect;
  const id = shelf.node.value;
  const activatesShelf = async (transaction: Transaction): Promise<number> => {
    const generation = await table.orderIn(transaction, 'reload', { what: 'all' });
    await transaction.query(`UPDATE ${schema}state SET started = 1`);
    return generation;
  };
  /** "`--start restore` activates instead what was active when the last activator stopped". */
  const begins = async (transaction: Transaction, state: StartState): Promise<number> => {
    if (startsWith === 'shelf' || state.started !== 1) return activatesShelf(transaction);
    // "folders put in by hand are activated all the same", and those that went are not.
    const { rows } = await transaction.query<{ id: string }>(`SELECT id FROM ${schema}ko WHERE revision > $1`, [
      shelf.openedAt,
    ]);
    const kos = rows.flatMap((row) => parseKoId(row.id) ?? []);
    return kos.length === 0 ? state.generation : table.orderIn(transaction, 'reload', { what: 'kos', kos });
  };
  const work = async (transaction: Transaction): Promise<Entered> => {
    const { query } = transaction;
    // One after the other, so that of several that start at a time one is the first.
    const { rows } = await query<StartState>(`SELECT started, generation FROM ${schema}state`);
    const state = rows[0] ?? { started: 0, generation: 0 };
    if (!database.isShared)
      return { generation: await begins(transaction, state), name: wanted, joined: 0, isFirst: true };
    await requireKnown(query, database.dialect, database.label);
    // What it was before it was started again, or another node, of whose state folder this one has a copy.
    const before = await query<{ another: number }>(
      `DELETE FROM ${schema}node WHERE id = $1
        RETURNING CASE WHEN ${lives(database.dialect)} AND address <> $2 THEN 1 ELSE 0 END AS another`,
      [id, address],
    );
    const others = await query<{ name: string }>(`SELECT name FROM ${schema}node WHERE ${lives(database.dialect)}`);
    const isAlone = others.rows.length === 0 && before.rows[0]?.another !== 1;
    const isFirst = state.started !== 1 || isAlone;
    const name = others.rows.some((each) => each.name === wanted) ? ownName(wanted, id) : wanted;
    const generation = isFirst ? await begins(transaction, state) : state.generation;
    const { rows: entered } = await query<{ joined: number }>(
      `INSERT INTO ${schema}node (id, name, address, version, settings, revision, generation, failures, joined, heartbeat)
        VALUES ($1, $2, $3, $4, $5, $6, $7, '[]', ${now}, ${now}) RETURNING joined`,
      [id, name, address, version, JSON.stringify(settings), shelf.reached.revision, JOINING],
    );
    return { generation, name, joined: entered[0]?.joined ?? 0, isFirst };
  };
  return database.transaction(work, { isExclusive: true });
}
