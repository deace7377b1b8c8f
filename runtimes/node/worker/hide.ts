/** Keeps other processes of this user from looking into this one, which an exec takes back: the launcher of its walls cannot. */
const PR_SET_DUMPABLE = 4;

/** @param koffi path of its native part; nothing where there are no walls. */
export function hide(koffi: string | undefined): void {
  if (koffi === undefined) return;
  const loaded = { exports: {} as Native };
  process.dlopen(loaded, koffi);
  const prctl = loaded.exports
    .load(null)
    .func('int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)');
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) !== 0) throw new Error('the worker cannot hide itself from other processes');
}

interface Native {
  load(path: null): { func(signature: string): (...values: number[]) => number };
}
