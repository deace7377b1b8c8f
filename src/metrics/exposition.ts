/**
 * The text of all series. Making it takes a part of a core that does not grow with how often it is asked for: whoever
 * asks while it is made, or shortly after, gets the same text.
 */
import { setImmediate as othersTurn } from 'node:timers/promises';
import type { Collected } from './collect.ts';
import { END, headOf } from './text.ts';
import type { Format } from './text.ts';
import type { Family } from './families.ts';

/** So many times the work that a text took pass before the next is made, so that a twentieth of a core goes into it, … */
const TIMES_ITS_WORK = 19;
/** … but no more milliseconds than that. */
const LONGEST_FRESH_MS = 1000;

interface Part {
  readonly family: Family;
  readonly bytes: Buffer[];
}

interface Made {
  readonly parts: readonly Part[];
  /** Milliseconds of the clock until which it counts. */
  readonly until: number;
  readonly texts: Map<Format, Buffer>;
}

export class Exposition {
  readonly #collect: () => AsyncIterable<Collected>;
  readonly #now: () => number;
  #made: Made | undefined;
  #making: Promise<Made> | undefined;

  constructor(collect: () => AsyncIterable<Collected>, now: () => number = () => performance.now()) {
    this.#collect = collect;
    this.#now = now;
  }

  /** The same bytes until another text is made. */
  async text(format: Format): Promise<Buffer> {
    const { parts, texts } = await this.#present();
    let text = texts.get(format);
    if (text === undefined) {
      const all = parts.flatMap(({ family, bytes }) => [Buffer.from(headOf(family, format)), ...bytes]);
      texts.set(format, (text = Buffer.concat([...all, Buffer.from(END[format])])));
    }
    return text;
  }

  #present(): Promise<Made> {
    if (this.#made !== undefined && this.#now() < this.#made.until) return Promise.resolve(this.#made);
    return (this.#making ??= this.#make().finally(() => (this.#making = undefined)));
  }

  async #make(): Promise<Made> {
    const parts: Part[] = [];
    let began = this.#now();
    let work = 0;
    for await (const each of this.#collect()) {
      if (each === 'pause') {
        work += this.#now() - began;
        // Nobody's call waits for all of it.
        await othersTurn();
        began = this.#now();
        continue;
      }
      const bytes = each.take();
      const last = parts.at(-1);
      if (last?.family === each.family) last.bytes.push(bytes);
      else parts.push({ family: each.family, bytes: [bytes] });
    }
    const now = this.#now();
    work += now - began;
    return (this.#made = { parts, until: now + Math.min(work * TIMES_ITS_WORK, LONGEST_FRESH_MS), texts: new Map() });
  }
}
