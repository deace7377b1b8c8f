import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';

const POLL_MS = 25;

/** Waits for something that tells nobody when it happens. Gives the first value that is not undefined. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  within = 60_000,
): Promise<T> {
  const deadline = Date.now() + within;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    assert.ok(Date.now() < deadline, `${what}: not within ${within} ms`);
    await wait(POLL_MS);
  }
}
