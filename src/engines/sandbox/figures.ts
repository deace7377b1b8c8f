/** What a scheduler tells of itself to whoever measures it. */
import type { Tally } from '../../lib/tally.ts';
import type { EngineFigures } from '../engine.ts';
import type { Endpoint } from './endpoint.ts';
import type { Lane } from './lane.ts';
import type { Removal } from './process-removal.ts';

export interface SchedulerFigures extends Pick<EngineFigures, 'waiting' | 'longestQueue' | 'processes'> {
  readonly isolates: number;
  readonly removals: Tally<Removal>;
}

/** `active`: the endpoints that have anything to do. */
export function figuresOf(
  lanes: readonly Lane[],
  active: Iterable<Endpoint>,
  removals: Tally<Removal>,
): SchedulerFigures {
  const waiting = [...active].map(({ counts }) => counts.waiting);
  return {
    waiting: waiting.reduce((sum, each) => sum + each, 0),
    longestQueue: waiting.reduce((most, each) => Math.max(most, each), 0),
    processes: lanes.map(({ process }) => ({ kind: 'sandbox', memory: () => process.memory() })),
    isolates: lanes.reduce((sum, lane) => sum + lane.isolates, 0),
    removals,
  };
}
