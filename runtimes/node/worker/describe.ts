/** What a thrown value says, in one line: `TypeError: x is not a function`. */
export function describe(thrown: unknown): string {
  try {
    const { name, message } = (thrown ?? {}) as { name?: unknown; message?: unknown };
    const text =
      typeof message === 'string' ? `${typeof name === 'string' && name ? name : 'Error'}: ${message}` : plain(thrown);
    return oneLine(text);
  } catch {
    return 'Error: the thrown value cannot be read';
  }
}

function plain(thrown: unknown): string {
  return typeof thrown === 'object' && thrown !== null
    ? `Error: ${JSON.stringify(thrown)}`
    : `Error: ${String(thrown)}`;
}

/** Characters of what code threw, which may be of any length. */
const mostRead = 10_000;

const oneLine = (text: string): string =>
  text
    .slice(0, mostRead)
    .replace(/\nRequire stack:[^]*/, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')
    .slice(0, 2000)
    .toWellFormed();

/** The same for a module that did not load, with the place inside the knowledge object: `… (src/a.js:3)`. */
export function describeLoad(thrown: unknown, root: string): string {
  const text = describe(thrown);
  const stack = thrown instanceof Error ? String(thrown.stack).slice(0, mostRead) : '';
  const places = stack
    .split(`${root}/`)
    .slice(1)
    .map((text) => /^([^\n:]+:\d+)/.exec(text)?.[1]);
  const place = places.find((found) => found !== undefined);
  return place && !text.includes(place) ? `${text} (${place})` : text;
}
