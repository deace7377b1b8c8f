import { setImmediate } from 'node:timers/promises';

const ITEMS_PER_TURN = 100;

/** The items, with a turn for everybody else after each hundred. */
export async function* inTurns<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let at = 0; at < items.length; at += ITEMS_PER_TURN) {
    if (at > 0) await setImmediate();
    yield items.slice(at, at + ITEMS_PER_TURN);
  }
}
