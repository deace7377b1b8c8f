import { hash } from 'node:crypto';

/** Work on text from outside, in time that grows no faster than the text: expressions such as `/\/+$/` take its square. */

const SLASH = 47;

/** Without the slashes at both ends. */
export const withoutSlashes = (text: string): string => withoutStartSlashes(withoutEndSlashes(text));

export function withoutEndSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === SLASH) end--;
  return text.slice(0, end);
}

export function withoutStartSlashes(text: string): string {
  let start = 0;
  while (text.charCodeAt(start) === SLASH) start++;
  return text.slice(start);
}

/** Characters; what a runtime says of a failure has to be read by a person. */
const MAX_MESSAGE_CHARACTERS = 4000;

/** What a program says of itself, cut to what a person reads. */
export const cutWords = (text: string): string =>
  text.length > MAX_MESSAGE_CHARACTERS ? `${text.slice(0, MAX_MESSAGE_CHARACTERS)}…` : text;

/** The same as one line. */
export const oneLine = (text: string): string =>
  cutWords(text)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' / ');

/** Names some of many, so that a message stays one. */
export function someOf(names: Iterable<string>, most = 20): string {
  const all = [...names];
  const rest = all.length - most;
  return all.slice(0, most).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

/** Characters that an address may have, as browsers and proxies count them. */
export const MAX_URL_CHARACTERS = 2048;

/** Whether more than so many places of the text match. `marks` is global, and matches single characters. */
export function hasMore(marks: RegExp, text: string, most: number): boolean {
  if (text.length <= most) return false;
  let count = 0;
  marks.lastIndex = 0;
  while (marks.test(text)) if (++count > most) return true;
  return false;
}

/** Some programs begin what they write with a byte order mark, which a reader "MAY ignore" (RFC 8259). */
export const withoutMark = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);

/** sha256 of several texts, as hex; where one ends and the next begins counts. */
export const digestOf = (...texts: readonly string[]): string => hash('sha256', JSON.stringify(texts), 'hex');

const MAX_CHARACTERS = 100;

/**
 * A text from outside as it may stand in a message: control, format and other invisible characters are escaped
 * so that they cannot change how the line reads, and what is long is cut.
 */
export function escapeForMessage(text: string): string {
  const cut = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
  return cut.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (c) => `\\u${(c.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}
