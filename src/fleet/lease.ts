/** Work that one node at a time does, also where it takes long: a row that its holder renews. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../shelf/store/database.ts';
import { retryTransient } from './retry-transient.ts';

/** Milliseconds after which a holder that says nothing any more has lost it. */
const HELD_FOR_MS = 10_000;
const RENEWED_EVERY_MS = 3000;
const ASKED_EVERY_MS = 250;

/**
 * Waits for the lease of that name, also while the database is away, and gives it back when the work is done.
 * @throws what the work throws; what does not pass of the database.
 */
export async function withLease<T>(
  database: Pick<Database, 'query' | 'dialect' | 'mayPass'>,
  node: string,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const { schema, now } = database.dialect;
  const take = async (): Promise<boolean> => {
    const { count } = await database.query(
      `INSERT INTO ${schema}lease AS l (name, holder, until) VALUES ($1, $2, ${now} + ${String(HELD_FOR_MS)})
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
        WHERE l.holder = excluded.holder OR l.until < ${now}`,
      [name, node],
    );
    return count > 0;
  };
  while (!(await retryTransient(database, take))) await wait(ASKED_EVERY_MS);
  // What cannot be renewed is taken by another node one day: the work does no harm when it is done twice.
  const renewal = setInterval(() => void take().catch(() => undefined), RENEWED_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    await database
      .query(`DELETE FROM ${schema}lease WHERE name = $1 AND holder = $2`, [name, node])
      .catch(() => undefined);
  }
}
