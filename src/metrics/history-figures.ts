/** What is told of calls: how many there were, how many failed, and how long those that ran took. */
import { EXECUTION_ERRORS } from '../lib/errors.ts';
import type { EndpointSeries } from './executions.ts';
import { CALL_BOUNDS } from './histogram.ts';

/** Calls, those that failed, and how many of those that ran took as long as each bucket says. */
export type Figures = Float64Array;

const CALLS = 0;
const FAILED = 1;
/** Where the buckets begin, and how many there are. */
export const BUCKETS_AT = 2;
export const BUCKETS = CALL_BOUNDS.length + 1;

export const newFigures = (): Figures => new Float64Array(BUCKETS_AT + BUCKETS);
export const callsOf = (figures: Figures): number => figures[CALLS] ?? 0;
export const failedOf = (figures: Figures): number => figures[FAILED] ?? 0;

/** As the alerts have it: what the caller did wrong is no failure of the service or of a knowledge object. */
export const FAILURES: ReadonlySet<string> = new Set([
  ...EXECUTION_ERRORS.keys(),
  ...['runtime-unreachable', 'runtime-silent', 'overloaded', 'internal'],
]);
/** Of calls that did not run nobody asks how long they took. */
const RAN: ReadonlySet<string> = new Set(['done', ...EXECUTION_ERRORS.keys(), 'runtime-silent', 'internal']);

/** All that was counted of a series, into `into`. */
export function readSeries(series: EndpointSeries, into: Figures): Figures {
  into.fill(0);
  for (const [outcome, { count, counts }] of series.outcomes()) {
    into[CALLS] = callsOf(into) + count;
    if (FAILURES.has(outcome)) into[FAILED] = failedOf(into) + count;
    if (!RAN.has(outcome)) continue;
    for (let i = 0; i < BUCKETS; i++) into[BUCKETS_AT + i] = (into[BUCKETS_AT + i] ?? 0) + (counts[i] ?? 0);
  }
  return into;
}

export function add(to: Figures, figures: Figures, times = 1): Figures {
  for (let i = 0; i < to.length; i++) to[i] = (to[i] ?? 0) + times * (figures[i] ?? 0);
  return to;
}

/** Milliseconds within which that part of the calls came back, interpolated as Prometheus does; null where none ran. */
export function quantile(figures: Figures, part: number): number | null {
  let all = 0;
  for (let i = BUCKETS_AT; i < figures.length; i++) all += figures[i] ?? 0;
  if (all === 0) return null;
  const rank = part * all;
  let below = 0;
  for (let i = 0; i < CALL_BOUNDS.length; i++) {
    const count = figures[BUCKETS_AT + i] ?? 0;
    const upper = CALL_BOUNDS[i] ?? 0;
    const lower = CALL_BOUNDS[i - 1] ?? 0;
    if (count > 0 && below + count >= rank) return rounded(1000 * (lower + (upper - lower) * ((rank - below) / count)));
    below += count;
  }
  // Nobody knows how much longer those beyond the last bound took.
  return 1000 * (CALL_BOUNDS.at(-1) ?? 0);
}

export const rounded = (value: number): number => Math.round(value * 1000) / 1000;
