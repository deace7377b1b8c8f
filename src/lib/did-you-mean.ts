/** Slips of the pen. */

/** The word that was probably meant by one that is none; a short one has less room for a slip. */
export function wordLike(word: string, known: Iterable<string>): string | undefined {
  const most = Math.min(MOST_TYPOS, Math.floor(word.length / 3));
  const near = [...known].map((each) => ({ each, off: distance(word.toLowerCase(), each.toLowerCase()) }));
  return near.filter(({ off }) => off <= most).sort((a, b) => a.off - b.off)[0]?.each;
}

const MOST_TYPOS = 2;
const MAX_CHARACTERS = 64;

/** To stand behind a sentence; empty where nothing is like it. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const meant = wordLike(word, known);
  return meant === undefined ? '' : `: did you mean ${meant}?`;
}

/** How many letters differ: those to insert, to leave out, to change, or to swap with their neighbour. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MOST_TYPOS || a.length > MAX_CHARACTERS) return Infinity;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const [left = 0, above = 0, both = 0] = [next[j], row[j + 1], row[j]];
      const swapped = i > 0 && j > 0 && a[i] === b[j - 1] && a[i - 1] === b[j] ? (before[j - 1] ?? 0) + 1 : Infinity;
      next.push(Math.min(left + 1, above + 1, both + (a[i] === b[j] ? 0 : 1), swapped));
    }
    before = row;
    row = next;
  }
  return row.at(-1) ?? 0;
}
