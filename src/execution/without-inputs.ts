/**
 * "Never the patient's data": an error of code may quote what it was given, and its message goes to the log. What it has
 * in common with the input is left out of it.
 */

const MAX_CHARACTERS = 300;
/** Characters of an input that is looked through. */
const MAX_INPUT_CHARACTERS = 64 * 1024;
const MOST_VALUES = 2000;
const MASK = '…';
/** Shorter ones say nothing of anybody, and are in every sentence. */
const MIN_CHARACTERS = 2;

const PREFIX = /^Code execution error: /;

/** The first line of the message, without the values of the input. */
export function withoutInputs(message: string, input: string, json: boolean): string {
  const line =
    message
      .replace(PREFIX, '')
      .slice(0, MAX_CHARACTERS * 2)
      .split('\n', 1)[0] ?? '';
  const kind = kindOf(line);
  if (input.length > MAX_INPUT_CHARACTERS) return kind + MASK;
  const rest = line.slice(kind.length);
  const values = json ? valuesOf(input) : undefined;
  const masked = values === undefined ? maskWords(rest, input) : maskQuotes(maskValues(rest, values), input);
  return (kind + masked).slice(0, MAX_CHARACTERS);
}

/** Such as `TypeError`, of a message that begins with it. */
export const errorTypeIn = (message: string): string | undefined =>
  /^[A-Za-z]{0,55}(?:Error|Exception)(?=: |$)/.exec(message.replace(PREFIX, ''))?.[0];

/** Such as `TypeError: `. */
function kindOf(line: string): string {
  const word = /^[A-Za-z]{1,60}: /.exec(line)?.[0] ?? '';
  return /(?:Error|Exception): $/.test(word) ? word : '';
}

/** Undefined where the input is no JSON. */
function valuesOf(input: string): Set<string> | undefined {
  const values = new Set<string>();
  const waiting: unknown[] = [];
  try {
    waiting.push(JSON.parse(input));
  } catch {
    return undefined;
  }
  while (waiting.length > 0 && values.size < MOST_VALUES) {
    const value = waiting.pop();
    if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) waiting.push(each);
    else if (typeof value === 'string' || typeof value === 'number') values.add(String(value).trim());
  }
  return values;
}

/** Longer values first, since one may hold another. */
function maskValues(text: string, values: ReadonlySet<string>): string {
  let masked = text;
  for (const value of [...values].sort((a, b) => b.length - a.length)) {
    if (value.length < MIN_CHARACTERS) continue;
    for (let at = masked.indexOf(value); at >= 0; at = masked.indexOf(value, at + MASK.length)) {
      const end = at + value.length;
      const within = isWord(masked[at - 1]) || isWord(masked[end]);
      if (!within) masked = masked.slice(0, at) + MASK + masked.slice(end);
    }
  }
  return masked;
}

/** Parts of the input, such as `JSON.parse` quotes, but not the names of its fields. */
function maskQuotes(text: string, input: string): string {
  return text.replace(/"[^"]{2,}"|'[^']{2,}'|`[^`]{2,}`/g, (quoted) => {
    const part = quoted.slice(1, -1).replaceAll('...', '').replaceAll(MASK, '');
    const isPart = part.length >= MIN_CHARACTERS && input.includes(part) && !input.includes(`"${part}":`);
    return isPart ? quoted.charAt(0) + MASK + quoted.charAt(0) : quoted;
  });
}

/** For an input of which nobody knows what in it is a value. */
const maskWords = (text: string, input: string): string =>
  text.replace(/[\p{L}\p{N}_]{2,}/gu, (word) => (input.includes(word) ? MASK : word));

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_]/u.test(character);
