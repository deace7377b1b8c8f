/** How a version of a knowledge object is, in one word: what is on the shelf, beside what runs. */
import type { Endpoint } from '../activation/endpoint.ts';
import type { EndpointSet } from '../activation/endpoint-set.ts';
import { koKey } from '../knowledge-object/id.ts';
import type { KoId } from '../knowledge-object/id.ts';
import type { ShelfEntry } from '../shelf/shelf.ts';

/**
 * The worst first. `changed`: another package runs than the one on the shelf. `deleted`: it runs and is not on the shelf any
 * more. `new`: it is on the shelf and is not activated. `idle`: it has nothing that runs, and need not.
 */
export const STATES = ['failed', 'changed', 'deleted', 'new', 'starting', 'active', 'idle'] as const;
export type KoState = (typeof STATES)[number];

/** True where an operator has something to do. */
export const isBad = (state: KoState): boolean => STATES.indexOf(state) < STATES.indexOf('starting');

export const worstOf = (states: readonly KoState[]): KoState => STATES.find((each) => states.includes(each)) ?? 'idle';

export type TellState = (id: KoId, entry: ShelfEntry | undefined, endpoints: readonly Endpoint[]) => KoState;

/** `endpoints`: those of the version. */
export function statesIn({ unloaded }: EndpointSet): TellState {
  const isFault = new Map(unloaded.map((each) => [koKey(each.id), each.isFault !== false]));
  return (id, entry, endpoints) => {
    const fault = isFault.get(koKey(id));
    const has = (status: Endpoint['status']): boolean => endpoints.some((each) => each.status === status);
    if (fault === true || has('FAILED_TO_ACTIVATE')) return 'failed';
    if (entry === undefined) return 'deleted';
    if (endpoints.some(({ ko }) => ko.entry.digest !== entry.digest)) return 'changed';
    if (has('LOADED')) return 'starting';
    if (has('ACTIVATED')) return 'active';
    return fault === false ? 'idle' : 'new';
  };
}
