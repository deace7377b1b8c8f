/** The endpoints of a simulation: what their code is like, and what must hold of each of them at any time. */
import type { Endpoint, EndpointParts } from '../../../src/engines/supervisor/endpoint.ts';
import type { CallScript } from './fake-sandbox.ts';
import type { Random } from '../random.ts';

type Does = CallScript['does'];
export interface Profile {
  readonly does: readonly [Does, ...Does[]];
  /** Part of its calls that do any of that; the others answer. */
  readonly part: number;
  /** Milliseconds that a call works at most. */
  readonly ms: number;
}

export const PROFILES: readonly [Profile, ...Profile[]] = [
  { does: ['answer'], part: 0, ms: 1 },
  { does: ['answer'], part: 0, ms: 3 },
  { does: ['ask'], part: 0.05, ms: 3 },
  { does: ['answer', 'throw'], part: 0.3, ms: 5 },
  { does: ['answer'], part: 0, ms: 60 },
  { does: ['answer'], part: 0, ms: 200 },
  { does: ['spin', 'hang'], part: 0.1, ms: 2 },
  { does: ['spin'], part: 0.9, ms: 2 },
  { does: ['crash'], part: 0.1, ms: 2 },
  { does: ['crash', 'fail', 'fill', 'grow', 'throw'], part: 0.5, ms: 20 },
  { does: ['ask', 'ask and crash'], part: 0.3, ms: 5 },
  { does: ['ask'], part: 0.9, ms: 20 },
  {
    does: ['answer', 'throw', 'fail', 'spin', 'hang', 'crash', 'fill', 'grow', 'ask', 'ask and crash'],
    part: 0.5,
    ms: 40,
  },
];
/** Milliseconds after which a call has been answered, whatever happened, by how often it may be tried. */
export const longestMs = (limit: number): number => 3 * (2 * limit + 2000) + 10_000;

export interface Open {
  readonly id: number;
  readonly since: number;
  readonly simulated: SimulatedEndpoint;
}

/** An endpoint, and what replaces it at a reload. */
export interface SimulatedEndpoint {
  readonly profile: Profile;
  readonly callers: number;
  /** Of whose processes it is. */
  readonly group: string;
  endpoint: Endpoint;
  isLoaded: boolean;
  loads: number;
  open: number;
  /** Since when it has calls none of which had a turn. */
  waitingSince: number | undefined;
}

export interface Report {
  readonly seed: number;
  steps: number;
  calls: number;
  answered: number;
  refused: number;
  /** Nobody waited for them any more. */
  left: number;
  failed: number;
  nested: number;
  processes: number;
  reloads: number;
}

const LARGE = 'x'.repeat(300);
const VERY_LARGE = 'x'.repeat(4000);

/** What the code of an endpoint does when it is loaded, and how it is called. */
export function partsOf(slot: number, isDraining: boolean, random: Random): Partial<EndpointParts> {
  const does = isDraining || random.chance(0.9) ? 'answer' : random.oneOf(['throw', 'crash', 'hang'] as const);
  const loadText = JSON.stringify({ id: slot, does, ms: random.between(1, 30) } satisfies CallScript);
  const limit = random.oneOf([200, 700, 2000, 5000]);
  return { id: `e${slot}`, slot, loadText, limit, oneByOne: random.chance(0.1) };
}

/** What a call does; some have large bodies. */
export function scriptOf(
  id: number,
  { does, part, ms }: Profile,
  isDraining: boolean,
  random: Random,
): CallScript & { readonly padding?: string } {
  const chosen = !isDraining && random.chance(part) ? random.oneOf(does) : 'answer';
  const script = { id, does: chosen, ms: isDraining ? 0 : random.between(0, ms) };
  return random.chance(0.03) ? { ...script, padding: random.chance(0.3) ? VERY_LARGE : LARGE } : script;
}

/** `now`: where code should have its turns by now; else 0. */
export function problemOf(
  { endpoint, open, loads, waitingSince }: SimulatedEndpoint,
  queueLimit: number,
  now: number,
  isShared: boolean,
): string | undefined {
  const { id, counts, queue, limit } = endpoint;
  const { waiting, inFlight, large, isNothing } = counts;
  const has = `${id} has ${open} calls, ${loads} loads, ${queue.length} in its queue, and counts ${waiting}, ${inFlight}, ${large}`;
  // Who wants a load hears of its end a moment later.
  // Where knowledge objects do not share processes, calls may wait for those of their group.
  if (isNothing ? open > 0 && isShared : open + loads === 0) return has;
  if (waiting < queue.length || waiting > open || inFlight < 0 || large < 0) return has;
  // Calls that began and go back are there beside those that may wait.
  if (waiting > queueLimit + 128) return has;
  const waitingMs = now - (waitingSince ?? now);
  return waitingMs > longestMs(limit) + 60_000 ? `${id} had no turn for ${waitingMs} ms` : undefined;
}

/** How the machine is: parts of starts that fail or take long, of frames that find no core, of calls by which a process is killed. */
export interface Conditions {
  readonly failing: number;
  readonly slow: number;
  /** Milliseconds that a slow start takes at most. */
  readonly slowest: number;
  readonly starved: number;
  readonly killing: number;
  /** Milliseconds between two calls at most. */
  readonly rate: number;
}

export const NO_FAULTS: Conditions = { failing: 0, slow: 0, slowest: 0, starved: 0, killing: 0, rate: 1 };

export function conditionsOf(random: Random): Conditions {
  const isBad = random.chance(0.5);
  return {
    failing: isBad && random.chance(0.3) ? random.next() : 0,
    slow: isBad ? random.next() * 0.5 : 0,
    slowest: random.oneOf([8000, 30_000]),
    starved: isBad ? random.next() * 0.05 : 0,
    killing: isBad ? random.next() * 0.05 : 0,
    rate: random.oneOf([20, 200, 1000, 3000]),
  };
}

export function startUnder({ failing, slow, slowest }: Conditions, random: Random): number | 'exit' | 'never' {
  if (random.chance(failing)) return 'exit';
  if (!random.chance(slow)) return random.between(20, 150);
  return random.chance(0.05) ? 'never' : random.between(500, slowest);
}

/** What does not hold, and the seed that leads to it. */
export class Fault extends Error {
  override readonly name = 'Fault';
}
