/** A part of a list that is there as a whole, at the cost of the part. */
import { firstWhere } from '../../lib/first-where.ts';

export interface Page<T> {
  readonly entries: readonly T[];
  /** True where more follow. */
  readonly more: boolean;
}

/** `isBehind`: false for the first entries of the list, and true for all others. `limit`: none where all are meant. */
export function pageOf<T>(
  list: readonly T[],
  isBehind: (entry: T) => boolean,
  isFound: (entry: T) => boolean,
  limit = Infinity,
): Page<T> {
  const entries: T[] = [];
  for (let i = firstWhere(list, isBehind); i < list.length; i++) {
    const entry = list[i];
    if (entry === undefined || !isFound(entry)) continue;
    if (entries.length === limit) return { entries, more: true };
    entries.push(entry);
  }
  return { entries, more: false };
}
