/** Built-ins that V8 does not interrupt, or not in time: only the end of the process ends them. */
import type { HostileCase } from '../support/hostile-case.ts';

export const nativeLoops: readonly HostileCase[] = [
  {
    name: 'indexOf on a length of 2 ** 53',
    body: 'return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);',
    outcome: { says: /within the limit of [\d.]+ s \(--execution-timeout\)/ },
  },
  {
    name: 'indexOf on an empty array of 2 ** 32',
    body: 'const a = []; a.length = 2 ** 32 - 1; for (;;) a.indexOf(1);',
    outcome: 'error',
  },
  {
    name: 'includes on a length of 2 ** 53',
    body: 'return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);',
    outcome: 'error',
  },
  {
    name: 'reverse of a length of 2 ** 53',
    body: 'return Array.prototype.reverse.call({ length: 2 ** 53 - 1 });',
    outcome: 'error',
  },
  {
    name: 'join of a length of 2 ** 32',
    body: 'return Array.prototype.join.call({ length: 2 ** 32 - 1 }, "").length;',
    outcome: 'error',
  },
  { name: 'a tower of BigInts', body: 'return String(3n ** 50000000n).length;', outcome: 'either' },
  {
    name: 'a BigInt of ten million digits',
    body: 'return String(BigInt("9".repeat(1e7)) ** 2n).length;',
    outcome: 'either',
  },
  { name: 'BigInts that grow without end', body: 'let x = 3n; for (;;) x = x * x;', outcome: 'error' },
  {
    name: 'a search in strings of 128 MB',
    body: 'const a = "a".repeat(2 ** 27), b = "a".repeat(2 ** 20) + "b"; let n = 0; for (let i = 0; i < 50; i++) n += a.indexOf(b); return n;',
    outcome: 'error',
  },
  {
    name: 'a comparison of strings of 128 MB',
    body: 'const a = "ä".repeat(2 ** 26); let n = 0; for (;;) n += a.localeCompare(a + "b");',
    outcome: 'error',
  },
  {
    name: 'a pattern with a million groups',
    body: 'return new RegExp("(a)".repeat(1e6)).test("a".repeat(1e6));',
    outcome: 'either',
  },
  { name: 'source text of 64 MB', body: 'return new Function("x", "x;".repeat(2 ** 25));', outcome: 'either' },
  {
    name: 'a number format for each language',
    body: 'for (;;) new Intl.NumberFormat("de").format(1);',
    outcome: 'error',
  },
];
