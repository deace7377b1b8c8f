/** The endpoints of a simulation: what their code is like, and what must hold of each of them at any time. */
import type { Endpoint } from '../endpoint.ts';
import type { Deed } from './fake-sandbox.ts';
import type { Random } from '../../../../test/support/random.ts';

type Does = Deed['does'];
export interface Character {
  readonly does: readonly [Does, ...Does[]];
  /** Part of its calls that do any of that; the others answer. */
  readonly part: number;
  /** Milliseconds that a call works at most. */
  readonly ms: number;
}

export const CHARACTERS: readonly [Character, ...Character[]] = [
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
export const longest = (limit: number): number => 3 * (2 * limit + 2000) + 10_000;

export interface Open {
  readonly id: number;
  readonly since: number;
  readonly place: Place;
}

/** An endpoint, and what replaces it at a reload. */
export interface Place {
  readonly character: Character;
  readonly callers: number;
  endpoint: Endpoint;
  isLoaded: boolean;
  loads: number;
  open: number;
  /** Since when it has calls none of which had a turn. */
  hungrySince: number | undefined;
}

export interface Report {
  readonly seed: number;
  steps: number;
  calls: number;
  answered: number;
  refused: number;
  failed: number;
  nested: number;
  processes: number;
  reloads: number;
}

export const LARGE = 'x'.repeat(300);
export const VERY_LARGE = 'x'.repeat(1500);

/** `now`: where code should have its turns by now; else 0. */
export function problemOf(
  { endpoint, open, loads, hungrySince }: Place,
  queueLimit: number,
  now: number,
): string | undefined {
  const { id, counts, queue, limit } = endpoint;
  const { waiting, inFlight, large, isNothing } = counts;
  const has = `${id} has ${open} calls, ${loads} loads, ${queue.length} in its queue, and counts ${waiting}, ${inFlight}, ${large}`;
  // Who wants a load hears of its end a moment later.
  if (isNothing ? open > 0 : open + loads === 0) return has;
  if (waiting < queue.length || waiting > open || inFlight < 0 || large < 0) return has;
  // Calls that began and go back are there beside those that may wait.
  if (waiting > queueLimit + 128) return has;
  const hungry = now - (hungrySince ?? now);
  return hungry > longest(limit) + 60_000 ? `${id} had no turn for ${hungry} ms` : undefined;
}

/** How the machine is: parts of starts that fail or take long, of frames that find no core, of calls by which a process is killed. */
export interface Weather {
  readonly failing: number;
  readonly slow: number;
  readonly starving: number;
  readonly killing: number;
  /** Milliseconds between two calls at most. */
  readonly rate: number;
}

export const CALM: Weather = { failing: 0, slow: 0, starving: 0, killing: 0, rate: 1 };

export function weatherOf(random: Random): Weather {
  const isBad = random.chance(0.5);
  return {
    failing: isBad && random.chance(0.3) ? random.next() : 0,
    slow: isBad ? random.next() * 0.5 : 0,
    starving: isBad ? random.next() * 0.05 : 0,
    killing: isBad ? random.next() * 0.05 : 0,
    rate: random.oneOf([20, 200, 1000, 3000]),
  };
}

export function startIn({ failing, slow }: Weather, random: Random): number | 'exit' | 'never' {
  if (random.chance(failing)) return 'exit';
  if (!random.chance(slow)) return random.between(20, 150);
  return random.chance(0.05) ? 'never' : random.between(500, 8000);
}

/** What does not hold, and the seed that leads to it. */
export class Fault extends Error {
  override readonly name = 'Fault';
}
