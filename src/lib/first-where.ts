/** The place of the first of which it is true, in a list in which it is true of all that follow; else the length. */
export function firstWhere<T>(list: readonly T[], is: (entry: T) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = list[middle];
    if (entry !== undefined && !is(entry)) low = middle + 1;
    else high = middle;
  }
  return low;
}
