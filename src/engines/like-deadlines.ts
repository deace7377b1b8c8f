/** Milliseconds by which the deadlines of calls in a batch may differ. */
const MAX_APART_MS = 100;
/** Divisor of the time left, by which they may differ too. */
const PART = 20;

/**
 * Whether two calls may share a batch, since all of it ends with the first of them. In milliseconds of `uptime()`;
 * Infinity where there is no end.
 */
export const areAlike = (one: number, other: number, now: number): boolean =>
  one === other || Math.abs(one - other) <= Math.min(MAX_APART_MS, Math.max(0, Math.min(one, other) - now) / PART);
