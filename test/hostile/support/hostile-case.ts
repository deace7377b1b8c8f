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

/** `$WELL` in the code is the endpoint of the well-behaved KO, `$FILES` one of a resource, `$SELF` its own. */
export function hostileKo(naan: string, { name, top = '', body, parts }: HostileCase, number: number): Ko {
  const code = `${top}\nfunction run(input) { if (!input.hostile) return "well"; ${body}\n}`
    .replaceAll('$WELL', `${naan}/well/1.0/run`)
    .replaceAll('$FILES', `${naan}/files/1.0/files`)
    .replaceAll('$SELF', `${naan}/case${number}/1.0/run`);
  return javascriptKo(code, { naan, name: `case${number}`, metadata: { title: name }, ...parts });
}
