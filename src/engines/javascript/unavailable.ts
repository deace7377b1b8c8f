/** Says of well-known names that they are not there on purpose, and what to do. */

const OF_NETWORK =
  'fetch XMLHttpRequest WebSocket EventSource Headers Request Response FormData Blob File MessageChannel BroadcastChannel ReadableStream WritableStream TransformStream CompressionStream DecompressionStream';
const OF_NODE = 'require Buffer __dirname __filename setImmediate clearImmediate Deno Bun';
const OF_BROWSERS =
  'window document navigator location history localStorage sessionStorage indexedDB alert requestAnimationFrame Worker importScripts';
const OF_LANGUAGE = 'WebAssembly SharedArrayBuffer Atomics';

const HINTS = new Map(
  (
    [
      [OF_NETWORK, 'the engine node has it, with network access where the operator allows it'],
      [OF_NODE, 'the engine node has what Node has'],
      ['process', 'bundlers replace process.env.NODE_ENV when they are told to; the engine node has what Node has'],
      [OF_BROWSERS, 'no engine has a browser'],
      [OF_LANGUAGE, 'the engine node has it'],
    ] as const
  ).flatMap(([names, hint]) => names.split(' ').map((name): [string, string] => [name, hint])),
);
const NAMES = [...HINTS.keys()].join('|');
const MISSING = new RegExp(
  `(?<=ReferenceError: )(${NAMES}) is not defined|(?<=TypeError: (?:globalThis|global|self)\\.)(${NAMES}) is not a (?:function|constructor)`,
  'g',
);

export const explainUnavailable = (message: string): string =>
  message.replace(MISSING, (_, bare?: string, member?: string) => {
    const name = bare ?? member ?? '';
    return `${name} is not available in the javascript engine; ${HINTS.get(name) ?? ''}`;
  });
