/** Whether time grows with the size of an input, and not with its square; told by ratios, so that no machine is too slow. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { inRound } from '../../support/round.ts';

export interface Parser {
  readonly name: string;
  /** The worst text of about this many characters. */
  readonly worst: (size: number) => string;
  readonly parse: (text: string) => unknown;
  /** Characters that can reach it at most. */
  readonly limit: number;
}

const FIRST = 2 ** inRound(13, 14);
const STEP = 8;
/** Halfway between linear and quadratic work. */
const MOST_GROWTH = 1.5;
/** Milliseconds: what takes less says nothing about how it grows, and is no harm. */
const FLOOR = 10;
const TRIES = inRound(1, 3);
/** Milliseconds after which a size is not tried again. */
const ENOUGH = 50;

/** Below this part more than linear growth, a larger text only takes its time: what is hidden in it would not show there. */
const CLEARLY = 1.2;

/** Characters: what grows too fast shows it long before, and larger texts only take their time. */
const LARGEST = 2 ** inRound(16, 19);

/** From 16 KB to 512 KB, in every run from 8 to 64 KB, or to the limit. Stops at the first step that is too long, before a next one would take for ever, or clearly linear. */
export async function assertLinear({ name, worst, parse, limit }: Parser): Promise<void> {
  const sizes: number[] = [];
  const last = Math.min(limit, LARGEST);
  for (let size = FIRST; size < last; size *= STEP) sizes.push(size);
  sizes.push(last);
  let before: { size: number; time: number } | undefined;
  for (const size of sizes) {
    const text = worst(size);
    assert.ok(text.length <= size * 1.1 + 200, `${name}: the text has ${text.length} characters instead of ${size}`);
    let time = await fastest(text, parse);
    if (before !== undefined) {
      const allowed = Math.max(before.time, FLOOR) * (size / before.size) ** MOST_GROWTH;
      // The collector of garbage may have run meanwhile.
      for (let again = 0; time > allowed && again < 2; again++) time = Math.min(time, await fastest(text, parse));
      assert.ok(
        time <= allowed,
        `${name}: ${before.size} characters take ${before.time.toFixed(1)} ms, ${size} take ${time.toFixed(1)} ms`,
      );
      if (before.time > FLOOR && time < (CLEARLY * before.time * size) / before.size) return;
    }
    before = { size, time };
  }
}

/** In the time of the processor: others may use it too. */
async function fastest(text: string, parse: (text: string) => unknown): Promise<number> {
  let least = Infinity;
  let spent = 0;
  for (let i = 0; i < TRIES && spent < ENOUGH && least > FLOOR; i++) {
    await setImmediate();
    const start = process.threadCpuUsage();
    try {
      await parse(text);
    } catch {
      // A refusal is an answer too.
    }
    const { user, system } = process.threadCpuUsage(start);
    const time = (user + system) / 1000;
    spent += time;
    least = Math.min(least, time);
  }
  return least;
}
