/**
 * The last hour of one series, in steps. Only steps in which something changed are kept, each with the buckets that did: a
 * few words of 4 bytes, at most 20.
 */
import { add, BUCKETS, BUCKETS_AT, callsOf, failedOf, newFigures } from './history-figures.ts';
import type { Figures } from './history-figures.ts';

/** Of a step: its number, calls, failures, and which buckets follow. */
const HEAD = 4;
const FIRST_WORDS = 32;

export class Track {
  /** Of all steps that are kept. */
  readonly sum = newFigures();
  /** What was counted until the last step ended. */
  readonly counted = newFigures();
  #words = new Uint32Array(FIRST_WORDS);
  #start = 0;
  #end = 0;
  /** Where the last step begins. */
  #last = 0;

  /** Bytes that it takes. */
  get bytes(): number {
    return this.#words.byteLength + this.sum.byteLength + this.counted.byteLength;
  }

  /** Steps come in their order. */
  append(step: number, figures: Figures): void {
    this.#makeRoom();
    const words = this.#words;
    let end = this.#end;
    this.#last = end;
    words[end++] = step;
    words[end++] = callsOf(figures);
    words[end++] = failedOf(figures);
    const maskAt = end++;
    let mask = 0;
    for (let i = 0; i < BUCKETS; i++) {
      const count = figures[BUCKETS_AT + i] ?? 0;
      if (count === 0) continue;
      mask |= 1 << i;
      words[end++] = count;
    }
    words[maskAt] = mask;
    this.#end = end;
    add(this.sum, figures);
  }

  /** Lets go of the steps before that one. */
  dropBefore(step: number): void {
    const figures = newFigures();
    while (this.#start < this.#end && (this.#words[this.#start] ?? 0) < step) {
      this.#start = this.#read(this.#start, figures);
      add(this.sum, figures, -1);
    }
  }

  *steps(): Generator<readonly [step: number, figures: Figures], void, undefined> {
    for (let at = this.#start; at < this.#end;) {
      const figures = newFigures();
      const step = this.#words[at] ?? 0;
      at = this.#read(at, figures);
      yield [step, figures];
    }
  }

  /** Of the last step, where it is that one. */
  lastIf(step: number): Figures | undefined {
    if (this.#start === this.#end || this.#words[this.#last] !== step) return undefined;
    const figures = newFigures();
    this.#read(this.#last, figures);
    return figures;
  }

  /** Gives where the next one begins. */
  #read(start: number, into: Figures): number {
    const words = this.#words;
    let at = start + HEAD;
    const mask = words[start + HEAD - 1] ?? 0;
    into[0] = words[start + 1] ?? 0;
    into[1] = words[start + 2] ?? 0;
    for (let i = 0; i < BUCKETS; i++) into[BUCKETS_AT + i] = (mask & (1 << i)) === 0 ? 0 : (words[at++] ?? 0);
    return at;
  }

  #makeRoom(): void {
    if (this.#end + HEAD + BUCKETS <= this.#words.length) return;
    const used = this.#end - this.#start;
    const old = this.#words;
    // What was let go at the front is used again, where it is much.
    if (this.#start < old.length / 4 || used + HEAD + BUCKETS > old.length)
      this.#words = new Uint32Array(Math.ceil(old.length * 1.5));
    this.#words.set(old.subarray(this.#start, this.#end));
    this.#last -= this.#start;
    this.#start = 0;
    this.#end = used;
  }
}
