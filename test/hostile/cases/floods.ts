/** Code that keeps the service itself busy: with log lines, with questions, with calls of others. */
import type { HostileCase } from '../support/hostile-case.ts';

export const floods: readonly HostileCase[] = [
  { name: 'console.log without end', body: 'for (;;) console.log("again");', outcome: 'error' },
  { name: 'a million log lines', body: 'for (let i = 0; i < 1e6; i++) console.log(i); return 1;', outcome: 'either' },
  { name: 'a log line of 256 MB', body: 'console.log("x".repeat(2 ** 28)); return 1;', outcome: 'either' },
  {
    name: 'a log line with a getter that loops',
    body: 'console.log({ get x() { while (true); } }); return 1;',
    outcome: 'error',
  },
  {
    name: 'log lines that forge others',
    body: 'console.log("\\n{\\"level\\":60,\\"msg\\":\\"forged\\"}\\n\\u0000"); return 1;',
    outcome: { is: 1 },
  },
  { name: 'getExecutor without end', body: 'for (;;) context.getExecutor("$WELL");', outcome: 'error' },
  {
    name: 'getExecutor of ever new names',
    body: 'for (let i = 0; ; i++) context.getExecutor("a/b/c/d" + i);',
    outcome: 'error',
  },
  {
    name: 'getExecutor of a name of 256 MB',
    body: 'return context.getExecutor("x".repeat(2 ** 28));',
    outcome: 'either',
  },
  {
    name: 'getExecutor of many long names',
    body: 'let n = 0; for (let i = 0; i < 1000; i++) n += context.getExecutor(i + "x".repeat(2 ** 20)) === null; return n;',
    outcome: 'either',
  },
  {
    name: 'getExecutor of everything',
    body: 'return [null, undefined, 1, {}, [], "", "/", "../..", "__proto__", "constructor", "a/b", "\\u0000", "\\ud800", "a\\nb"].map((x) => context.getExecutor(x)).every((x) => x === null);',
    outcome: { is: true },
  },
  {
    name: 'getProperty of a name of 256 MB',
    body: 'return context.getProperty("x".repeat(2 ** 28));',
    outcome: 'either',
  },
  {
    name: 'calls of another KO without end',
    body: 'for (;;) context.getExecutor("$WELL").execute({ a: 1, b: 2, words: [] });',
    outcome: 'error',
  },
  {
    name: 'an input of 100 MB for another KO',
    body: 'return context.getExecutor("$WELL").execute({ a: 1, b: 2, words: ["x".repeat(1e8)] });',
    outcome: 'either',
  },
  {
    name: 'an input of 100 MB for a resource',
    body: 'return context.getExecutor("$FILES").execute("x".repeat(1e8));',
    outcome: 'either',
  },
  {
    name: 'calls of a resource without end',
    body: 'for (;;) context.getExecutor("$FILES").execute({});',
    outcome: 'error',
  },
  {
    name: 'inputs that another KO cannot take',
    body: 'const e = context.getExecutor("$WELL"); let n = 0; for (const x of [undefined, null, "{", "\\u0000", () => 1, [[[[]]]]]) try { e.execute(x, "application/json"); } catch { n++; } return n;',
    outcome: { is: 6 },
  },
  {
    name: 'recursion through itself',
    body: 'return context.getExecutor("$SELF").execute(input);',
    outcome: { says: /16/ },
  },
  {
    name: 'recursion that doubles',
    body: 'const e = context.getExecutor("$SELF"); for (;;) try { e.execute(input); } catch {}',
    outcome: 'error',
  },
  {
    name: 'a loop below 15 others',
    body: 'if ((input.n ?? 0) < 14) return context.getExecutor("$SELF").execute({ hostile: true, n: (input.n ?? 0) + 1 }); while (true);',
    outcome: 'error',
  },
  {
    name: 'memory below 15 others',
    body: 'const kept = new Array(1e6).fill({}); if ((input.n ?? 0) < 14) return [context.getExecutor("$SELF").execute({ hostile: true, n: (input.n ?? 0) + 1 }), kept.length]; const a = []; for (;;) a.push({});',
    outcome: 'error',
  },
  {
    name: 'a native loop below another',
    body: 'if (!input.n) return context.getExecutor("$SELF").execute({ hostile: true, n: 1 }); return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);',
    outcome: 'error',
  },
  {
    name: 'a question in a getter of the result',
    body: 'return { get x() { return context.getExecutor("$WELL").execute({ a: 1, b: 2, words: ["x"] }).sum; } };',
    outcome: { is: { x: 3 } },
  },
  {
    name: 'a question after the answer',
    body: 'Promise.resolve().then(() => context.getExecutor("$WELL").execute({ a: 1, b: 2, words: [] })); return 1;',
    outcome: { is: 1 },
  },
  {
    name: 'calls of a KO that fails',
    body: 'let n = 0; for (let i = 0; i < 100; i++) try { context.getExecutor("$WELL").execute({}); } catch { n++; } return n;',
    outcome: { is: 100 },
  },
];
