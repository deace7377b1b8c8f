/** Code that misuses the web platform in its isolate: what it costs, and what it could lead out to. */
import type { HostileCase } from '../support/hostile-case.ts';

const NAMES =
  'structuredClone TextEncoder TextDecoder URL URLSearchParams atob btoa crypto performance queueMicrotask AbortController AbortSignal Event EventTarget DOMException setTimeout setInterval clearTimeout clearInterval console context';
/** Every object that can be reached from the names, by properties, prototypes, constructors and what calls give. */
const REACHED = `const seen = new Set(), found = [];
const walk = (value, path) => {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value) || seen.size > 20000) return;
  seen.add(value);
  if (typeof value === "function" && value !== Function.prototype && !(value instanceof Function)) found.push(path);
  if (typeof value === 'object' && !(value instanceof Object) && Object.getPrototypeOf(value) !== null && value !== Object.prototype) found.push(path);
  for (const key of Reflect.ownKeys(value)) { let each; try { each = value[key]; } catch (thrown) { each = thrown; } walk(each, path + '.' + String(key)); }
  walk(Object.getPrototypeOf(value), path + '.__proto__');
};
for (const name of '${NAMES}'.split(' ')) walk(globalThis[name], name);
for (const make of [() => new URL('http://a/?b'), () => new URL('http://a/?b').searchParams, () => new URL('x'), () => crypto.getRandomValues(new Uint8Array(3)), () => crypto.getRandomValues(1), () => crypto.subtle.digest('SHA-256', new Uint8Array(2)), () => new AbortController().signal, () => new TextDecoder('x'), () => structuredClone(() => 1), () => structuredClone({ a: new Map() }), () => atob('\\u20ac'), () => new Event('x'), () => new EventTarget(), () => context.getExecutor('x')]) {
  let made; try { made = make(); } catch (thrown) { made = thrown; }
  walk(made, String(make));
}`;

export const platform: readonly HostileCase[] = [
  {
    name: 'objects of the host behind the platform',
    body: `${REACHED} return [found, seen.size > 200, (() => {}).constructor('return typeof process')()];`,
    outcome: { is: [[], true, 'undefined'] },
  },
  {
    name: 'a million timers',
    body: 'for (let i = 0; i < 1e6; i++) setTimeout(() => {}, i); return new Promise(() => {});',
    outcome: 'error',
  },
  {
    name: 'timers that set timers',
    body: 'const f = () => { setTimeout(f); setTimeout(f); }; f(); return new Promise(() => {});',
    outcome: 'error',
  },
  {
    name: 'an interval without end',
    body: 'setInterval(() => {}, 0); return new Promise(() => {});',
    outcome: 'error',
  },
  {
    name: 'a timer that loops',
    body: 'setTimeout(() => { for (;;); }); return new Promise(() => {});',
    outcome: 'error',
  },
  {
    name: 'timers without end below an awaited loop',
    body: 'return (async () => { for (;;) await new Promise((d) => setTimeout(d, 1e9)); })();',
    outcome: 'error',
  },
  { name: 'microtasks without end', body: 'const f = () => queueMicrotask(f); f(); return 1;', outcome: 'error' },
  {
    name: 'timers that outlive their call',
    body: 'setTimeout(() => { for (;;); }, 1); Promise.resolve().then(() => setInterval(() => { for (;;); }, 1)); return 1;',
    outcome: { is: 1 },
  },
  {
    name: 'a listener that dispatches again',
    body: 'const t = new EventTarget(); t.addEventListener("x", () => t.dispatchEvent(new Event("x"))); t.dispatchEvent(new Event("x")); return 1;',
    outcome: 'error',
  },
  {
    name: 'listeners without end',
    body: 'const t = new EventTarget(); for (;;) t.addEventListener("x", () => {});',
    outcome: 'error',
  },
  {
    name: 'signals that depend on each other in a chain',
    body: 'const c = new AbortController(); let s = c.signal; for (let i = 0; i < 1e5; i++) s = AbortSignal.any([s]); c.abort(); return 1;',
    outcome: 'either',
  },
  {
    name: 'a getter that loops in structuredClone',
    body: 'structuredClone({ get x() { for (;;); } });',
    outcome: 'error',
  },
  {
    name: 'a getter that grows what is cloned',
    body: 'const a = []; const o = { get x() { for (let i = 0; i < 9; i++) a.push({ get y() { return o2(); } }); return a; } }; const o2 = () => { a.push(1); return [a.slice()]; }; structuredClone(o); return 1;',
    outcome: 'either',
  },
  {
    name: 'a clone of what is nested 200,000 deep',
    body: 'let o = {}; for (let i = 0; i < 2e5; i++) o = { o }; structuredClone(o);',
    outcome: { says: /call stack/ },
  },
  { name: 'a clone of 100 MB', body: 'structuredClone(new ArrayBuffer(1e8));', outcome: 'error' },
  {
    name: 'decoding of 100 MB',
    body: 'return new TextDecoder().decode(new Uint8Array(1e8)).length;',
    outcome: 'error',
  },
  {
    name: 'decoding without end',
    body: 'const d = new TextDecoder(), b = new Uint8Array(1e6); let s = ""; for (;;) s += d.decode(b, { stream: true });',
    outcome: 'error',
  },
  {
    name: 'digests without end',
    body: 'return (async () => { const b = new Uint8Array(5e6); for (;;) await crypto.subtle.digest("SHA-512", b); })();',
    outcome: 'error',
  },
  {
    name: 'a digest in the course of which memory ends',
    body: 'return (async () => { const all = []; for (;;) all.push(await crypto.subtle.digest("SHA-1", new Uint8Array(2e6).fill(1)), new Array(1e5).fill({})); })();',
    outcome: 'error',
  },
  {
    name: 'too many random bytes',
    body: 'crypto.getRandomValues(new Uint8Array(65537));',
    outcome: { says: /QuotaExceededError/ },
  },
  {
    name: 'random bytes without end',
    body: 'const b = new Uint8Array(65536); for (;;) crypto.getRandomValues(b);',
    outcome: 'error',
  },
  {
    name: 'a URL of 10 MB',
    body: 'new URL("http://a/" + "x".repeat(1e7));',
    outcome: { says: /at most \d+ characters/ },
  },
  {
    name: 'URLs of 4 MB without end',
    body: 'const u = "http://a/?" + "é".repeat(1e6); for (;;) new URL(u);',
    outcome: 'error',
  },
  {
    name: 'a URL that is made longer',
    body: 'const u = new URL("http://a/"); for (;;) u.search += "\\u20ac".repeat(1e5);',
    outcome: 'error',
  },
  { name: 'parameters of 20 MB', body: 'return new URLSearchParams("a=%ff&".repeat(3e6)).size;', outcome: 'either' },
  { name: 'base64 of 50 MB', body: 'return atob(btoa("x".repeat(5e7))).length;', outcome: 'error' },
  {
    name: 'changed built-ins before the platform is first used',
    body: `const keep = [Object.getOwnPropertyNames, Array.prototype.forEach];
      for (const type of [String, Array, Object, Map, Set, RegExp, Promise, Uint8Array, Function]) for (const key of Object.getOwnPropertyNames(type.prototype)) if (key !== 'constructor') try { type.prototype[key] = function () { leaked.push(arguments); return this; }; } catch {}
      globalThis.leaked = { push: (all) => { if (all && all[0] && typeof all[0] === 'function') leaked.function = all[0]; } };
      Object.defineProperty(Object.prototype, 'get', { get() { throw 1; }, configurable: true });
      for (const use of [() => new URL('http://a/?b=c').searchParams.get('b'), () => crypto.randomUUID(), () => structuredClone({ a: [1] }), () => new TextDecoder().decode(new Uint8Array(2)), () => setTimeout(() => 1), () => new AbortController().abort()]) try { use(); } catch {}
      return 1;`,
    outcome: 'either',
    parts: { deployment: { isolation: 'call' } },
  },
];
