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

const oneLine = (text: string): string =>
  text
    .replace(/\nRequire stack:[^]*/, '')
    .replace(/\s*\n\s*/g, ' ')
    .slice(0, 2000)
    .toWellFormed();

/** The same for a module that did not load, with the place inside the knowledge object: `… (src/a.js:3)`. */
export function describeLoad(thrown: unknown, root: string): string {
  const text = describe(thrown);
  const stack = thrown instanceof Error ? String(thrown.stack) : '';
  const places = stack
    .split(`${root}/`)
    .slice(1)
    .map((text) => /^([^\n:]+:\d+)/.exec(text)?.[1]);
  const place = places.find((found) => found !== undefined);
  return place && !text.includes(place) ? `${text} (${place})` : text;
}
