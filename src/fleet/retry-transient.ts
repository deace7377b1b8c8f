/** What a node does when it starts has to wait while the database is away, and never ends it. */
import { setTimeout as wait } from 'node:timers/promises';
import { messageOf, ServiceError } from '../lib/errors.ts';
import type { Database } from '../shelf/store/database.ts';

const TRIED_AGAIN_AFTER_MS = 1000;
/** Of errors as callers hear them. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set(['shelf-unavailable', 'outcome-unknown']);

/** Tries until it goes well; it must do no harm when it is done twice. @throws what would fail again. */
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
