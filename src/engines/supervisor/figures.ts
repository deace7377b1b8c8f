/** What a scheduler tells of itself to whoever measures it. */
import type { EngineFigures } from '../engine.ts';
import type { Endpoint } from './endpoint.ts';
import type { Lane } from './lane.ts';

export interface SchedulerFigures extends Pick<EngineFigures, 'waiting' | 'longestQueue' | 'processes'> {
  readonly isolates: number;
}

/** `active`: the endpoints that have anything to do. */
export function figuresOf(lanes: readonly Lane[], active: Iterable<Endpoint>): SchedulerFigures {
  const waiting = [...active].map(({ counts }) => counts.waiting);
  return {
    waiting: waiting.reduce((sum, each) => sum + each, 0),
    longestQueue: waiting.reduce((most, each) => Math.max(most, each), 0),
    processes: lanes.map(({ process }) => ({ kind: 'sandbox', memory: () => process.memory() })),
    isolates: lanes.reduce((sum, lane) => sum + lane.isolates, 0),
  };
}
