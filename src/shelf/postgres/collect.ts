/** Gives back what nothing in the database refers to. */
import type { Database } from './database.ts';

/** For which files stay that nothing refers to: a node may have them open. */
const BLOBS_FOR = `interval '1 hour'`;
/** A change is looked up seconds after it, or never. */
const CHANGES_FOR = `interval '1 hour'`;
/** Nodes that were not heard for so long will read all anew, should they come back. */
const NODES_FOR = `interval '1 hour'`;

export async function collectBlobs(database: Database): Promise<void> {
  const { schema } = database;
  const isUsed = `EXISTS (SELECT FROM ${schema}.package_file f WHERE f.blob = b.digest)`;
  await database.query(`UPDATE ${schema}.blob b SET unused = NULL WHERE unused IS NOT NULL AND ${isUsed}`);
  await database.query(`UPDATE ${schema}.blob b SET unused = clock_timestamp() WHERE unused IS NULL AND NOT ${isUsed}`);
  await database.query(
    `DELETE FROM ${schema}.blob b WHERE unused < clock_timestamp() - ${BLOBS_FOR} AND NOT ${isUsed}`,
  );
  await database.query(`DELETE FROM ${schema}.change WHERE at < now() - ${CHANGES_FOR}`);
  await database.query(`DELETE FROM ${schema}.node WHERE heartbeat < clock_timestamp() - ${NODES_FOR}`);
  await forgetRemoved(database);
}

/** Tombstones that every node has passed. Who comes back later is told by `changes_from` to read all. */
async function forgetRemoved(database: Database): Promise<void> {
  const { schema } = database;
  await database.transaction(async ({ query }) => {
    await query(`SELECT 1 FROM ${schema}.state FOR UPDATE`);
    const { rows } = await query<{ last: number | null }>(
      `DELETE FROM ${schema}.ko WHERE removed AND revision <= (SELECT min(revision) FROM ${schema}.node) RETURNING revision AS last`,
    );
    const last = rows.reduce((most, { last }) => Math.max(most, last ?? 0), 0);
    if (last > 0) await query(`UPDATE ${schema}.state SET changes_from = greatest(changes_from, $1)`, [last]);
  });
}
