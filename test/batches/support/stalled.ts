import { until } from '../../runtimes/support/until.ts';

const LOOKS = 60;

/** Waits until what moves does so no more: many looks in a row see the same. */
export async function untilStalled<T>(look: () => Promise<T> | T): Promise<T> {
  let last: T | undefined;
  let same = 0;
  return until('nothing moves any more', async () => {
    const now = await look();
    same = now === last ? same + 1 : 0;
    last = now;
    return same >= LOOKS ? now : undefined;
  });
}
