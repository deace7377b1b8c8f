import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TestJavascript } from '../../../test/support/javascript.ts';

const javascript = new TestJavascript();
after(() => javascript[Symbol.asyncDispose]());

/** Gives what the code in a text gives, or what it throws. The codes of its own errors are for Node alone. */
const TRY = `async function run(code) {
  try {
    return { value: await (0, eval)('(async () => (' + code + '))()') };
  } catch (thrown) {
    const isDom = typeof DOMException === 'function' && thrown instanceof DOMException;
    return { name: thrown.name, isDom, code: isDom ? thrown.code : undefined };
  }
}`;
const here = (0, eval)(`${TRY}; run`) as (code: string) => Promise<unknown>;

/** Runs each text in the engine and in Node, which must agree. */
async function assertSame(codes: readonly string[]): Promise<void> {
  const executor = await javascript.activate(TRY);
  for (const code of codes) {
    const expected = JSON.parse(JSON.stringify(await here(code))) as unknown;
    assert.deepEqual(await javascript.call(executor, code), expected, code);
  }
}

test('structuredClone copies what it copies in Node, and refuses the same', () =>
  assertSame([
    'structuredClone({ a: [1, , 3], b: { c: null, d: undefined, e: "x" } })',
    'structuredClone([1, , 3]).hasOwnProperty(1)',
    '((x) => { x.self = x; const y = structuredClone(x); return [y !== x, y.self === y]; })({})',
    '((d) => [structuredClone(d) instanceof Date, structuredClone(d).getTime()])(new Date(5))',
    '[...structuredClone(new Map([[{ a: 1 }, new Set([1, "b"])]]))].map(([k, v]) => [k, [...v]])',
    '((r) => [r.source, r.flags, r.lastIndex])(structuredClone(Object.assign(/a+/gi, { lastIndex: 3 })))',
    'Array.from(structuredClone(new Float64Array([1.5, -0, 3])))',
    '((b) => { const c = structuredClone({ one: new Uint8Array(b, 1, 2), two: new DataView(b) }); return [c.one.buffer === c.two.buffer, c.one.byteOffset, [...c.one], c.two.byteLength]; })(new Uint8Array([1, 2, 3, 4]).buffer)',
    '((e) => [e instanceof TypeError, e.name, e.message, e.cause, Object.keys(e)])(structuredClone(Object.assign(new TypeError("no", { cause: { a: 1 } }), { extra: 1 })))',
    '((e) => [e instanceof Error, e.name, e.message])(structuredClone(Object.assign(new Error("no"), { name: "Own" })))',
    '((c) => [c.constructor === Object, c.a])(structuredClone(new (class A { a = 1; get b() { return 2; } })()))',
    'structuredClone({ get a() { return 1; } })',
    '[Object(1), Object("x"), Object(true)].map((x) => typeof structuredClone(x))',
    'structuredClone(10n).toString()',
    'structuredClone(() => 1)',
    'structuredClone({ a: [() => 1] })',
    'structuredClone(Symbol("x"))',
    'structuredClone(new WeakMap())',
    'structuredClone(Promise.resolve(1))',
    'structuredClone()',
    'structuredClone({ get a() { throw new RangeError("own"); } })',
    '((b) => { const c = structuredClone(b, { transfer: [b] }); return [b.byteLength, c.byteLength]; })(new ArrayBuffer(8))',
    '((b) => { try { structuredClone({ b, f() {} }, { transfer: [b] }); } catch (e) { return [e.name, b.byteLength]; } })(new ArrayBuffer(8))',
    'structuredClone(1, { transfer: [{}] })',
    'structuredClone(Object.create(null, { a: { value: 1, enumerable: true }, b: { value: 2 } }))',
    'structuredClone({ __proto__: { a: 1 }, b: 2 })',
    'Object.getPrototypeOf(structuredClone(JSON.parse(\'{"__proto__": {"a": 1}}\'))) === Object.prototype',
    'structuredClone({ [Symbol.toStringTag]: "Map", a: 1 })',
  ]));

test('texts become bytes and bytes texts as in Node', () => {
  const bytes = [
    '[]',
    '[0x61, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80]',
    '[0xef, 0xbb, 0xbf, 0x61]',
    '[0xc3]',
    '[0xc3, 0x28, 0xff, 0xfe, 0xe2, 0x82, 0x61]',
    '[0xed, 0xa0, 0x80, 0xc0, 0x80, 0xf4, 0x90, 0x80, 0x80]',
    '[0xf0, 0x9f, 0x98]',
    '[0xff, 0xfe, 0x61, 0x00, 0x3d, 0xd8, 0x00, 0xde, 0x00, 0xd8]',
    '[0x80, 0x9f, 0xa0, 0xff]',
  ];
  const labels = ['utf-8', 'UTF8', ' utf-16le ', 'utf-16', 'utf-16be', 'windows-1252'];
  const decodings = labels.flatMap((label) =>
    bytes.flatMap((each) =>
      ['{}', '{ fatal: true }', '{ ignoreBOM: true }'].map(
        (options) => `new TextDecoder(${JSON.stringify(label)}, ${options}).decode(new Uint8Array(${each}))`,
      ),
    ),
  );
  return assertSame([
    ...decodings,
    ...bytes.map(
      (each) =>
        `((d) => ${each}.map((b) => d.decode(new Uint8Array([b]), { stream: true })).join("") + d.decode())(new TextDecoder())`,
    ),
    '[...new TextEncoder().encode("a\\u00e9\\u20ac\\u{1f600}\\ud800x")]',
    '[...new TextEncoder().encode()]',
    '((u) => [new TextEncoder().encodeInto("a\\u20ac\\u{1f600}", u), [...u]])(new Uint8Array(5))',
    '((d) => [d.encoding, d.fatal, d.ignoreBOM])(new TextDecoder("utf8", { fatal: 1 }))',
    'new TextDecoder("none")',
    'new TextDecoder().decode("text")',
    'new TextDecoder().decode(new DataView(new Uint8Array([1, 98, 99]).buffer, 1))',
    'new TextDecoder("utf-8").decode(new Uint8Array(20000).fill(97)).length',
    'btoa("a\\u00ff") + btoa("") + btoa("ab") + btoa("abc")',
    'btoa("\\u20ac")',
    '[" YWJj ", "YQ", "YQ==", "YWI=", ""].map(atob)',
    'atob("Y")',
    'atob("Y-8")',
    'atob("YQ=")',
  ]);
});

test('URLs and their parameters are read and written as in Node', () => {
  const shown = (url: string): string =>
    `((u) => [u.href, u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash, String(u), JSON.stringify(u)])(${url})`;
  const change = (name: string, value: string): string =>
    shown(
      `((u) => { u.${name} = ${JSON.stringify(value)}; return u; })(new URL("https://u:p@example.org:81/a/b?c=1#d"))`,
    );
  return assertSame([
    shown('new URL("HTTPS://User:pass@EX\\u00e4mple.org:443/a/../b c?d=\\u00e9#f g")'),
    shown('new URL("../x?y", "http://a.org/b/c/d")'),
    shown('new URL("file:///etc/../x")'),
    shown('new URL("data:text/plain,hi")'),
    'new URL("nothing")',
    'new URL("//a", "")',
    'new URL()',
    '[URL.canParse("a:b"), URL.canParse("a"), URL.canParse("a", "http://x"), URL.parse("a"), URL.parse("http://a").href]',
    ...[
      ['protocol', 'http'],
      ['port', '443'],
      ['port', 'x'],
      ['host', 'b.org:9'],
      ['hostname', 'c.org'],
      ['pathname', 'x y'],
      ['search', 'q=ä b'],
      ['hash', ''],
      ['username', 'ü'],
      ['href', 'http://new.org/x'],
      ['href', 'none'],
    ].map(([name = '', value = '']) => change(name, value)),
    '((u) => { u.searchParams.append("x", "1 2"); u.searchParams.delete("c"); const h = u.href; u.search = "?n=2"; return [h, [...u.searchParams], u.href]; })(new URL("http://a/?c=1&c=2"))',
    '((u) => { u.searchParams.delete("c"); return u.href; })(new URL("http://a/?c=1"))',
    '[...new URLSearchParams("?a=1&b=%20+%2B&c&=d&%zz=%ff%41&e=%F0%9F%98%80&&f=%EF%BB%BFx")]',
    'new URLSearchParams("a=%C3%28%E9").toString()',
    'String(new URLSearchParams([["a b", "!\'()*~-._"], ["\\u00e9", "\\ud800"]]))',
    'String(new URLSearchParams({ a: 1, b: null, c: [1, 2] }))',
    'String(new URLSearchParams(new Map([["x", "y"]])))',
    'new URLSearchParams([["a"]])',
    '((p) => [p.get("a"), p.getAll("a"), p.has("a", "2"), p.has("b"), p.get("z"), p.size])(new URLSearchParams("a=1&a=2&b=3"))',
    '((p) => { p.set("a", "9"); p.append("0", "z"); p.sort(); p.delete("b", "4"); return [[...p.keys()], [...p.values()], [...p.entries()], String(p)]; })(new URLSearchParams("b=3&a=1&b=4&a=2"))',
    '((p) => { const all = []; p.forEach((value, name, self) => all.push(value, name, self === p)); return all; })(new URLSearchParams("a=1&b=2"))',
  ]);
});

test('events and signals reach who listens, as in Node', () =>
  assertSame([
    '((t, s) => { t.addEventListener("x", (e) => s.push(e.type, e.target === t, e.cancelable)); t.addEventListener("x", { handleEvent(e) { s.push(this !== t, e.defaultPrevented); } }); t.dispatchEvent(new Event("x", { cancelable: true })); return s; })(new EventTarget(), [])',
    '((t, s) => { const f = () => s.push(1); t.addEventListener("x", f); t.addEventListener("x", f); t.addEventListener("x", f, true); t.addEventListener("x", () => s.push(2), { once: true }); t.dispatchEvent(new Event("x")); t.removeEventListener("x", f); t.dispatchEvent(new Event("x")); return s; })(new EventTarget(), [])',
    '((t, s) => { t.addEventListener("x", (e) => { s.push(1); e.stopImmediatePropagation(); }); t.addEventListener("x", () => s.push(2)); t.dispatchEvent(new Event("x")); return s; })(new EventTarget(), [])',
    '((t) => { t.addEventListener("x", (e) => e.preventDefault()); return [t.dispatchEvent(new Event("x", { cancelable: true })), t.dispatchEvent(new Event("x"))]; })(new EventTarget())',
    '((t, c, s) => { t.addEventListener("x", () => s.push(1), { signal: c.signal }); c.abort(); t.dispatchEvent(new Event("x")); return s; })(new EventTarget(), new AbortController(), [])',
    '((t) => t.dispatchEvent({}))(new EventTarget())',
    'new Event()',
    '((c, s) => { c.signal.onabort = (e) => s.push(e.type, c.signal.aborted); c.abort(); c.abort("again"); return [s, c.signal.reason.name, c.signal.reason.code, c.signal.reason.message]; })(new AbortController(), [])',
    '((c) => { c.abort({ own: 1 }); return [c.signal.reason, AbortSignal.any([new AbortController().signal, c.signal]).reason]; })(new AbortController())',
    '((a, b) => { const s = AbortSignal.any([a.signal, b.signal]); const t = AbortSignal.any([s]); b.abort(5); return [s.aborted, s.reason, t.reason]; })(new AbortController(), new AbortController())',
    'AbortSignal.abort().throwIfAborted()',
    '[AbortSignal.abort(3).reason, AbortSignal.abort().reason.name]',
    'new AbortSignal()',
    'AbortSignal.any([{}])',
    '((s) => new Promise((r) => s.addEventListener("abort", () => r([s.reason.name, s.reason.code, s.reason.message]))))(AbortSignal.timeout(1))',
    '((e) => [e.name, e.message, e.code, e instanceof Error, String(e), DOMException.ABORT_ERR, Object.prototype.toString.call(e)])(new DOMException("m", "AbortError"))',
    '((e) => [e.name, e.message, e.code, e.cause])(new DOMException("m", { name: "Own", cause: 1 }))',
  ]));

test('identifiers, digests and random bytes are those of Node', async () => {
  await assertSame([
    ...['SHA-1', 'sha-256', 'SHA-384', 'SHA-512'].map(
      (name) =>
        `crypto.subtle.digest(${JSON.stringify(name)}, new TextEncoder().encode("abc".repeat(50000))).then((d) => [...new Uint8Array(d)])`,
    ),
    'crypto.subtle.digest({ name: "SHA-256" }, new Uint8Array([1, 2, 3, 4]).subarray(1, 3)).then((d) => [...new Uint8Array(d)])',
    'crypto.subtle.digest("MD5", new Uint8Array(1))',
    'crypto.getRandomValues(new Float32Array(1))',
    'crypto.getRandomValues(new Uint8Array(65537))',
    '/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())',
    '((a) => [crypto.getRandomValues(a) === a, new Set(a).size > 200])(new Uint8Array(60000))',
    '((t) => [typeof t, performance.now() >= t, Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000])(performance.now())',
  ]);
  const executor = await javascript.activate(
    'function run() { return Array.from({ length: 300 }, () => crypto.randomUUID()); }',
  );
  const all = [await javascript.call(executor), await javascript.call(executor)].flat();
  assert.equal(new Set(all).size, 600);
});

test('`global` and `self` are the global object, and nothing of a browser, of Node or of the network is there', async () => {
  const executor = await javascript.activate(
    `var URL = 'own'; let Event = 1; function atob() { return 2; }
    function run(names) { return [global === globalThis, self === globalThis, URL, Event, atob(), Object.keys(globalThis).includes('self'), names.map((name) => eval('typeof ' + name))]; }`,
  );
  const names = ['fetch', 'navigator', 'window', 'document', 'process', 'require', 'Buffer', 'XMLHttpRequest'];
  assert.deepEqual(await javascript.call(executor, names), [
    ...[true, true, 'own', 1, 2, false],
    names.map(() => 'undefined'),
  ]);
});

test('an error says of what is not there on purpose what to do, at a call, below it and while code loads', async () => {
  const says = (name: string, hint: string): RegExp =>
    new RegExp(`Error: ${name} is not available in the javascript engine; ${hint}`);
  const id = 'a/fetches/1.0/run';
  const fetching = await javascript.activate('function run(how) { return how ? globalThis.fetch("x") : fetch("x"); }', {
    id,
  });
  await assert.rejects(javascript.call(fetching, false), says('fetch', 'the engine node has it'));
  await assert.rejects(
    javascript.call(fetching, true),
    /globalThis\.fetch is not available in the javascript engine; /,
  );
  const outer = await javascript.activate(`function run() { return context.getExecutor("${id}").execute(false); }`);
  await assert.rejects(javascript.call(outer), says('fetch', 'the engine node has it'));
  await assert.rejects(javascript.activate('window.run = () => 1;'), says('window', 'no engine has a browser'));
  await assert.rejects(
    javascript.activate('const fs = require("fs"); function run() {}'),
    says('require', 'the engine node has what Node has'),
  );
  const own = await javascript.activate('function run() { throw new Error("fetch is not defined"); }');
  await assert.rejects(javascript.call(own), /Error: fetch is not defined$/);
});
