/** Results that are too large, that JSON does not know, or that look like something else. */
import type { HostileCase } from '../support/hostile-case.ts';

const TOO_LARGE = /larger than the limit of 100000 bytes/;

/** For a service with `--max-result 100000`. */
export const results: readonly HostileCase[] = [
  { name: 'a string of 500 MB', body: 'return "x".repeat(5e8);', outcome: 'error' },
  { name: 'a string of 20 MB', body: 'return "x".repeat(2e7);', outcome: { says: TOO_LARGE } },
  { name: 'a string one character too long', body: 'return "x".repeat(99_999);', outcome: { says: TOO_LARGE } },
  { name: 'the longest string', body: 'return "x".repeat(99_998);', outcome: { is: 'x'.repeat(99_998) } },
  {
    name: 'characters of three bytes beyond the limit',
    body: 'return "€".repeat(60_000);',
    outcome: { says: TOO_LARGE },
  },
  {
    name: '2 ** 30 strings by reference',
    body: 'let o = "x"; for (let i = 0; i < 30; i++) o = [o, o]; return o;',
    outcome: 'error',
  },
  { name: '2000 references to 1 MB', body: 'return new Array(2000).fill("x".repeat(1e6));', outcome: 'error' },
  { name: 'an array of 2 ** 32 holes', body: 'return new Array(2 ** 32 - 1);', outcome: 'error' },
  {
    name: 'an object a million deep',
    body: 'let o = {}; for (let i = 0; i < 1e6; i++) o = { o }; return o;',
    outcome: 'error',
  },
  { name: 'a toJSON that grows', body: 'return { toJSON() { return [this, this]; } };', outcome: 'error' },
  { name: 'a cycle', body: 'const o = {}; o.o = o; return o;', outcome: { says: /circular/i } },
  { name: 'a BigInt', body: 'return 1n;', outcome: { says: /BigInt/ } },
  {
    name: 'a Proxy without an end',
    body: 'return new Proxy([], { get: (t, k) => k === "length" ? 2 ** 32 - 1 : 1 });',
    outcome: 'error',
  },
  { name: 'a function', body: 'return run;', outcome: { is: null } },
  { name: 'a symbol', body: 'return Symbol("x");', outcome: { is: null } },
  { name: 'nothing', body: '', outcome: { is: null } },
  {
    name: 'functions inside',
    body: 'return { f: run, s: Symbol(), u: undefined, a: [run] };',
    outcome: { is: { a: [null] } },
  },
  { name: 'NaN', body: 'return [1, { a: NaN }];', outcome: { says: /the result holds NaN at result\[1\]\.a$/ } },
  { name: '-0 and null', body: 'return [null, -0];', outcome: { is: [null, 0] } },
  { name: 'a Map', body: 'return new Map([[1, 2]]);', outcome: { is: {} } },
  { name: 'half a character', body: 'return "\\ud800";', outcome: { is: '\ud800' } },
  {
    name: 'line ends, NUL and separators',
    body: 'return "a\\nb\\u0000c\\u2028d\\r!?~";',
    outcome: { is: 'a\nb\u0000c\u2028d\r!?~' },
  },
  { name: 'what looks like an error', body: 'return "!\\"stolen\\"";', outcome: { is: '!"stolen"' } },
  { name: 'what looks like a question', body: 'return "?\\"stolen\\"";', outcome: { is: '?"stolen"' } },
  { name: 'what looks like a batch that waits', body: 'return "~1";', outcome: { is: '~1' } },
  {
    name: 'raw JSON',
    body: 'return [JSON.rawJSON("\\"raw\\""), JSON.rawJSON("12345678901234567890")];',
    outcome: 'answer',
  },
  { name: 'raw JSON with a line end', body: 'return JSON.rawJSON("1\\n!2");', outcome: 'error' },
  {
    name: 'a property __proto__',
    body: 'return JSON.parse("{\\"__proto__\\":{\\"polluted\\":1}}");',
    outcome: 'answer',
  },
  { name: 'a key with a line end', body: 'return { "a\\n!b": 1 };', outcome: { is: { 'a\n!b': 1 } } },
  { name: 'the wrapping of an answer', body: 'return "\\",\\"info\\":{}}";', outcome: { is: '","info":{}}' } },
];
