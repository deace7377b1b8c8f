/** Hostile knowledge objects as data: what one does, and which answers to its caller are acceptable. */
import { javascriptKo } from '../../acceptance/support/ko.ts';
import type { JavascriptParts, Ko } from '../../acceptance/support/ko.ts';

export interface HostileCase {
  readonly name: string;
  /** What the function does for `{"hostile": true}`; for other inputs it answers `"well"`. */
  readonly body: string;
  /** Stands before the function. */
  readonly top?: string;
  /**
   * `error`: 500, an error of the code. `answer`: 200 with whatever the code makes of it. `either` of the two.
   * With `is`, the result to the letter; with `says`, words of the error.
   */
  readonly outcome: 'error' | 'answer' | 'either' | { readonly is: unknown } | { readonly says: RegExp };
  readonly parts?: Partial<JavascriptParts>;
}

export const hostileKo = (naan: string, each: HostileCase, number: number): Ko =>
  javascriptKo(`${each.top ?? ''}\nfunction run(input) { if (!input.hostile) return "well"; ${each.body}\n}`, {
    naan,
    name: `case${number}`,
    metadata: { title: each.name },
    ...each.parts,
  });
