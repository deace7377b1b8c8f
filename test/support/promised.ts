import { inRound } from './round.ts';

/** What ends at all has ended by then, however busy the machine is. */
const ON_ANY_MACHINE_MS = 60_000;

/**
 * The bound by which a test judges a promise of so many milliseconds: that many in the slow rings, which run at rest. In
 * every run other tests, and who knows who else, keep the cores busy, so only what does not end at all is found there.
 */
export const promised = (ms: number): number => inRound(Math.max(ms, ON_ANY_MACHINE_MS), ms);
