/** When a sandbox of the fast lane counts as stuck. */
import type { Lane } from './lane.ts';

/** Milliseconds of silence after which a sandbox is suspected, … */
const SILENT = 75;
/** … of work since then after which it is set aside, … */
const STUCK = 50;
/** … or this much where it loads code, and no call but only other loads wait for it, … */
const STUCK_LOADING = 500;
/** … and of silence after which it is set aside though it got no core to work on. */
const STARVED = 1000;

/** A sandbox that others keep from the cores is silent too, so its own work counts. */
export function isStuck(lane: Lane, now: number): boolean {
  const silence = now - lane.progress;
  if (silence < SILENT) {
    lane.workAtSuspicion = undefined;
    return false;
  }
  const work = lane.process.processorTime();
  lane.workAtSuspicion ??= work;
  const limit = lane.holdsUpCalls ? STUCK : STUCK_LOADING;
  return work - lane.workAtSuspicion >= limit || silence > STARVED;
}

/** A process that was silent because it got no core: nobody knows whether its code had begun. */
export function isStarved(lane: Lane): boolean {
  return lane.workAtSuspicion !== undefined && lane.process.processorTime() - lane.workAtSuspicion < STUCK;
}
