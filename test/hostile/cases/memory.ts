/** Code that takes all memory it can get, in the ways that pass an isolate's own limit too. */
import type { HostileCase } from '../support/hostile-case.ts';

export const memoryBombs: readonly HostileCase[] = [
  { name: 'objects without end', body: 'const a = []; for (;;) a.push({ text: "x" + a.length });', outcome: 'error' },
  {
    name: 'an object with 10 million keys',
    body: 'const o = {}; for (let i = 0; i < 1e7; i++) o["k" + i] = i; return 1;',
    outcome: 'either',
  },
  {
    name: 'an array filled downwards',
    body: 'const a = new Array(1e8); for (let i = 1e8; i-- > 0;) a[i] = i; return 1;',
    outcome: 'either',
  },
  { name: 'a Map that grows', body: 'const m = new Map(); for (let i = 0; ; i++) m.set(i, {});', outcome: 'error' },
  { name: 'one array of 60 million', body: 'return new Array(6e7).fill(1).length;', outcome: 'either' },
  {
    name: 'a loop that catches every failure to allocate',
    body: 'const a = []; for (;;) try { a.push(new Array(1000).fill({})); } catch {}',
    outcome: 'error',
  },
  { name: 'concat of itself', body: 'let a = [1]; for (;;) a = a.concat(a);', outcome: 'error' },
  { name: 'a string that doubles', body: 'let s = "x"; for (;;) s += s;', outcome: { says: /string length/i } },
  {
    name: 'strings that are kept',
    body: 'const a = []; for (;;) a.push("x".repeat(1e6) + a.length);',
    outcome: 'error',
  },
  { name: 'ArrayBuffers', body: 'const a = []; for (;;) a.push(new Uint8Array(2 ** 20).fill(1));', outcome: 'error' },
  {
    name: 'ArrayBuffers, with every failure caught',
    body: 'const a = []; for (;;) try { a.push(new Uint8Array(2 ** 20).fill(1)); } catch {}',
    outcome: 'error',
  },
  { name: 'an ArrayBuffer of 8 GB', body: 'return new ArrayBuffer(2 ** 33).byteLength;', outcome: 'error' },
  {
    name: 'ArrayBuffers that grow',
    body: 'const a = []; for (let i = 0; i < 1500; i++) { const b = new ArrayBuffer(1, { maxByteLength: 2 ** 20 }); b.resize(2 ** 20); new Uint8Array(b).fill(1); a.push(b); } return a.length;',
    outcome: 'error',
  },
  {
    name: 'ArrayBuffers that grow, by way of the prototype',
    body: 'const A = Object.getPrototypeOf(Uint8Array.prototype).constructor, C = new A().buffer?.constructor ?? new Uint8Array(1).buffer.constructor; const a = []; for (let i = 0; i < 1500; i++) { const b = Reflect.construct(C, [1, { maxByteLength: 2 ** 20 }], C); b.resize(2 ** 20); new Uint8Array(b).fill(1); a.push(b); } return a.length;',
    outcome: 'error',
  },
  {
    name: 'ArrayBuffers that are transferred to a larger size',
    body: 'const a = []; for (let i = 0; i < 1500; i++) { const b = new ArrayBuffer(1).transfer(2 ** 20); new Uint8Array(b).fill(1); a.push(b); } return a.length;',
    outcome: 'error',
  },
  {
    name: 'memory of WebAssembly',
    body: 'const m = new WebAssembly.Memory({ initial: 1, maximum: 65536 }); m.grow(60000); new Uint8Array(m.buffer).fill(1); return 1;',
    outcome: { says: /WebAssembly is not available/ },
  },
  {
    name: 'SharedArrayBuffers',
    body: 'const a = []; for (;;) a.push(new SharedArrayBuffer(2 ** 24));',
    outcome: { says: /SharedArrayBuffer is not available/ },
  },
  {
    name: 'waiting on shared memory',
    body: 'Atomics.wait(new Int32Array(4), 0, 0);',
    outcome: { says: /Atomics is not available/ },
  },
  {
    name: 'a parsed array of 20 million',
    body: 'return JSON.parse("[" + "1,".repeat(2e7) + "1]").length;',
    outcome: 'either',
  },
  { name: 'spreading 100 million', body: 'return [..."x".repeat(1e8)].length;', outcome: 'error' },
  {
    name: 'promises without end',
    body: 'const a = []; for (;;) a.push(new Promise(() => {}).then(() => 1));',
    outcome: 'error',
  },
  {
    name: 'generators on the heap',
    body: 'const a = []; for (;;) a.push((function* () { yield* a; })());',
    outcome: 'error',
  },
  { name: 'symbols in the registry', body: 'for (let i = 0; ; i++) Symbol.for("s" + i);', outcome: 'error' },
  {
    name: 'functions made of text',
    body: 'const a = []; for (let i = 0; ; i++) a.push(new Function("return " + i + ";" + "x;".repeat(1e4)));',
    outcome: 'error',
  },
  {
    name: 'number formats that are kept',
    body: 'const a = []; for (;;) a.push(new Intl.NumberFormat("de"));',
    outcome: 'error',
  },
  {
    name: 'regular expressions that are kept',
    body: 'const a = []; for (let i = 0; ; i++) { const r = new RegExp("(a|b)*" + i); r.test("ab"); a.push(r); }',
    outcome: 'error',
  },
];
