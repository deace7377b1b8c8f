/** Work that one node at a time does, also where it takes long: a row that its holder renews. */
import { setTimeout as wait } from 'node:timers/promises';
import { messageOf, ServiceError } from '../lib/errors.ts';
import type { Database } from '../shelf/store/database.ts';

/** Milliseconds after which a holder that says nothing any more has lost it, as one has whose clock was another. */
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
        WHERE l.holder = excluded.holder OR l.until < ${now} OR l.until > ${now} + ${String(2 * HELD_FOR_MS)}`,
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

const TRIED_AGAIN_AFTER_MS = 1000;
/** Of errors as callers hear them. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set(['shelf-unavailable', 'outcome-unknown']);

/** Waits while the database is away, and tries until it goes well; it must do no harm when it is done twice. @throws what would fail again. */
export async function retryTransient<T>(
  database: Pick<Database, 'mayPass'>,
  work: () => Promise<T>,
  onWait: (cause: string) => void = () => undefined,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (thrown) {
      const isTransient = thrown instanceof ServiceError ? TRANSIENT_CODES.has(thrown.code) : database.mayPass(thrown);
      if (!isTransient) throw thrown;
      onWait(messageOf(thrown));
      await wait(TRIED_AGAIN_AFTER_MS);
    }
  }
}
