/** Keeps other processes of this user from looking into this one, which an exec takes back: the launcher of its walls cannot. */
import type { Native } from './native.ts';

const PR_SET_DUMPABLE = 4;

export function hide(native: Native): void {
  const prctl = native.load(null).func('int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)');
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) !== 0) throw new Error('the worker cannot hide itself from other processes');
}
