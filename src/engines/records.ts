/**
 * Records that run together. On their way nobody looks into them: they pass as bytes, a character for each, and whoever
 * needs their text decodes it.
 */

export interface RecordBlock {
  /** JSON texts in UTF-8 without NUL, and line feeds between them; a character for each byte. */
  readonly text: string;
  readonly count: number;
}

/** Lines of an answer as clients get them: `{"result":…}` and a line feed for each; a character for each byte. */
export interface ResultLines {
  readonly lines: string;
  readonly count: number;
}

/** What came of some records that follow each other, or why one of them has no result. */
export type RecordsPart = ResultLines | Error;

/** In the order of the records. */
export type RecordsAnswer = readonly RecordsPart[];

/** What stands around a result on its line. */
export const RESULT_HEAD = '{"result":';

/** Their texts. */
export const textsOf = ({ text }: RecordBlock): string[] => Buffer.from(text, 'latin1').toString('utf8').split('\n');

/** `result`: JSON text, as a runtime may write it. */
export const resultLine = (result: string): ResultLines => ({
  lines: Buffer.from(`${RESULT_HEAD}${onOneLine(result)}}\n`).toString('latin1'),
  count: 1,
});

/** The first of them, and the rest where there are more. */
export function divide({ text, count }: RecordBlock, first: number): [RecordBlock, RecordBlock?] {
  if (count <= first) return [{ text, count }];
  const at = endOfLine(text, first);
  return [
    { text: text.slice(0, at), count: first },
    { text: text.slice(at + 1), count: count - first },
  ];
}

/** The record at a place, from 0. */
export function recordAt(block: RecordBlock, at: number): RecordBlock {
  const from = at === 0 ? 0 : endOfLine(block.text, at) + 1;
  return divide({ text: block.text.slice(from), count: block.count - at }, 1)[0];
}

/** In their order, but each that is larger than so many bytes is alone. */
export function withLargeOnesApart(block: RecordBlock, large: number): RecordBlock[] {
  if (block.text.length <= large || block.count === 1) return [block];
  const found: RecordBlock[] = [];
  const { text } = block;
  let from = 0;
  let count = 0;
  for (let at = 0; at <= text.length;) {
    const next = text.indexOf('\n', at);
    const end = next < 0 ? text.length : next;
    if (end - at > large) {
      if (count > 0) found.push({ text: text.slice(from, at - 1), count });
      found.push({ text: text.slice(at, end), count: 1 });
      from = end + 1;
      count = 0;
    } else count++;
    at = end + 1;
  }
  if (count > 0) found.push({ text: text.slice(from), count });
  return found;
}

/** Where the line feed stands after so many lines. */
export function endOfLine(text: string, lines: number): number {
  let at = -1;
  for (let i = 0; i < lines; i++) at = text.indexOf('\n', at + 1);
  return at;
}

/** JSON has line breaks between its tokens only. */
const onOneLine = (json: string): string => (LINE_BREAK.test(json) ? json.replace(/[\r\n]+/g, ' ') : json);
const LINE_BREAK = /[\r\n]/;

/** Puts together what comes in parts, in any order. */
export class AnswersInOrder {
  readonly #parts: (RecordsAnswer | undefined)[];
  readonly #whole: (answer: RecordsAnswer) => void;
  #left: number;

  /** `whole` gets it once all of them are there. */
  constructor(count: number, whole: (answer: RecordsAnswer) => void) {
    this.#parts = Array<undefined>(count);
    this.#left = count;
    this.#whole = whole;
  }

  /** What came of those from that place on. */
  put(at: number, answer: RecordsAnswer): void {
    this.#parts[at] = answer;
    for (const part of answer) this.#left -= part instanceof Error ? 1 : part.count;
    if (this.#left <= 0) this.#whole(this.#parts.flatMap((each) => each ?? []));
  }
}
