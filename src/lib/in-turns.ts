import { setImmediate } from 'node:timers/promises';

const AT_ONCE = 100;

/** The items, with a turn for everybody else after each hundred. */
export async function* inTurns<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let at = 0; at < items.length; at += AT_ONCE) {
    if (at > 0) await setImmediate();
    yield items.slice(at, at + AT_ONCE);
  }
}
