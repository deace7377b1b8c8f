/** Code that does not end, where V8 could stop it. */
import type { HostileCase } from '../support/hostile-case.ts';

export const loops: readonly HostileCase[] = [
  {
    name: 'while (true)',
    body: 'while (true);',
    outcome: { says: /within the limit of [\d.]+ s \(--execution-timeout\)/ },
  },
  { name: 'a loop that catches all', body: 'for (;;) try { throw 1 } catch {}', outcome: 'error' },
  { name: 'a loop in finally', body: 'try { while (true); } finally { while (true); }', outcome: 'error' },
  {
    name: 'a recursion that catches its overflow',
    body: 'function f() { try { f(); } finally { f(); } } f();',
    outcome: 'error',
  },
  { name: 'endless recursion', body: 'return run(input);', outcome: { says: /call stack/i } },
  {
    name: 'a regular expression that backtracks for ever',
    body: 'return /^(a+)+$/.test("a".repeat(60) + "b");',
    outcome: 'error',
  },
  { name: 'a comparator that loops', body: 'return [2, 1].sort(() => { while (true); });', outcome: 'error' },
  { name: 'a toJSON that loops', body: 'return { toJSON() { while (true); } };', outcome: 'error' },
  { name: 'a getter that loops in the result', body: 'return { get x() { while (true); } };', outcome: 'error' },
  {
    name: 'a Proxy whose traps loop as result',
    body: 'return new Proxy({}, { get() { while (true); }, ownKeys() { while (true); } });',
    outcome: 'error',
  },
  { name: 'a then that loops', body: 'return { then() { while (true); } };', outcome: 'error' },
  { name: 'a getter of then that loops', body: 'return { get then() { while (true); } };', outcome: 'error' },
  {
    name: 'an iterator without end',
    body: 'for (const x of (function* () { for (;;) yield 1; })());',
    outcome: 'error',
  },
  { name: 'a conversion that loops', body: 'return `${{ toString() { while (true); } }}`;', outcome: 'error' },
  {
    name: 'a microtask that makes the next',
    body: 'const next = () => Promise.resolve().then(next); return next();',
    outcome: 'error',
  },
  {
    name: 'microtasks that double',
    body: 'const next = () => { Promise.resolve().then(next); Promise.resolve().then(next); }; next(); return 1;',
    outcome: 'error',
  },
  { name: 'awaiting without end', body: 'return (async () => { for (;;) await 0; })();', outcome: 'error' },
  { name: 'a loop after an await', body: 'return (async () => { await 0; while (true); })();', outcome: 'error' },
  {
    name: 'a loop in a promise that nobody waits for',
    body: 'Promise.resolve().then(() => { while (true); }); return 1;',
    outcome: 'error',
  },
  { name: 'a thenable that gives itself', body: 'const t = { then(r) { r(t); } }; return t;', outcome: 'error' },
  {
    name: 'asynchronous iteration without end',
    body: 'return (async () => { for await (const x of (async function* () { for (;;) yield 1; })()); })();',
    outcome: 'error',
  },
  { name: 'a promise that never settles', body: 'return new Promise(() => {});', outcome: { says: /never settles/ } },
  { name: 'a thenable that never settles', body: 'return { then() {} };', outcome: { says: /never settles/ } },
  {
    name: 'awaiting what never comes',
    body: 'return (async () => { await new Promise(() => {}); while (true); })();',
    outcome: { says: /never settles/ },
  },
  {
    name: 'a loop when garbage is collected',
    top: 'const registry = new FinalizationRegistry(() => { while (true); });',
    body: 'for (let i = 0; i < 1e5; i++) registry.register({ i }, i); for (let i = 0; i < 1e6; i++) JSON.parse("[1]"); return 1;',
    outcome: 'either',
  },
];
