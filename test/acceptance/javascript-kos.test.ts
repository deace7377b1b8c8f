import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRequestError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from './support/ko.ts';
import type { Content, JavascriptParts, Ko } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();

async function served(code: string, parts: Partial<JavascriptParts> = {}): Promise<Ko> {
  const ko = javascriptKo(code, { naan: uniqueNaan(), ...parts });
  await service.serve(ko);
  return ko;
}

async function resultOf(ko: Ko, input: unknown = { n: 20 }): Promise<unknown> {
  const answer = await service.post(pathOf(ko), input);
  assert.equal(answer.status, 200, answer.text);
  return answer.object['result'];
}

test('the function may be declared in any way', async () => {
  const styles = {
    'classic function': 'function run(input) { return input.n + 22; }',
    'const arrow before its variables': 'const run = (input) => input.n + more;\nconst more = 22;',
    'let and class': 'class Adder { add(n) { return n + 22; } }\nlet run = (input) => new Adder().add(input.n);',
    'function before its variables': 'function run(input) { return input.n + more; }\nvar more = 22;',
    'result of a bundle':
      'var run = (function () { "use strict"; function main(i) { return i.n + 22; } return main; })();',
    'undeclared global': 'more = 22; run = function (input) { total = input.n + more; return total; };',
    'async function': 'async function run(input) { const more = await Promise.resolve(22); return input.n + more; }',
    'promise chain': 'function run(input) { return Promise.resolve(input.n).then((n) => n + 22); }',
    thenable: 'function run(input) { return { then(ok) { ok(input.n + 22); } }; }',
    'module.exports': 'const more = 22; module.exports = function (input) { return input.n + more; };',
    'named module.exports': 'module.exports = { run: (input) => input.n + 22 };',
    exports: 'exports.run = (input) => input.n + 22;',
    'byte order mark and comments': '\ufeff/* a */ // b\nfunction run(input) { return input.n + 22; } // end',
    hashbang: '#!/usr/bin/env node\nfunction run(input) { return input.n + 22; }',
  };
  for (const [style, code] of Object.entries(styles)) {
    assert.equal(await resultOf(await served(code)), 42, style);
  }
});

test('classic scripts run in sloppy mode', async () => {
  const code = 'function run() { undeclared = 5; return [typeof this, undeclared, typeof arguments.callee, 010]; }';
  assert.deepEqual(await resultOf(await served(code)), ['object', 5, 'function', 8]);
});

test('a script with import or export is an ES module with relative imports', async () => {
  const files: Record<string, Content> = {
    'src/lib/more.js': 'import { twenty } from "../twenty.js"; export const more = twenty + 2;',
    'src/twenty.js': 'export const twenty = 20; export default "default";',
    'src/lib/index.mjs': 'export * from "./more.js"; export { default as word } from "../twenty.js";',
  };
  const artifact = ['src/index.js', 'src/lib/more.js', 'src/twenty.js', 'src/lib/index.mjs'];
  const code =
    'import { more, word } from "./lib/index.mjs";\nexport function run(input) { return word === "default" ? input.n + more : word; }';
  assert.equal(await resultOf(await served(code, { files, deployment: { artifact } })), 42);
});

test('an ES module may await at its top level and export the function in any way', async () => {
  const exported = [
    'const more = await Promise.resolve(22);\nexport const run = async (input) => input.n + more;',
    'const more = 22;\nfunction inner(input) { return input.n + more; }\nexport { inner as run };',
    'export default function run(input) { return input.n + 22; }',
  ];
  for (const code of exported) assert.equal(await resultOf(await served(code)), 42, code);
});

test('a file .mjs is a module also without import or export', async () => {
  const strict = 'export const run = () => { try { undeclared = 1; return "sloppy"; } catch { return "strict"; } };';
  assert.equal(await resultOf(await served(strict, { artifact: 'src/index.mjs' })), 'strict');
});

test('an import that is missing or leaves the package fails the activation', async () => {
  for (const specifier of [
    './none.js',
    'fs',
    'node:fs',
    'https://example.org/x.js',
    '../../../../etc/passwd',
    'lodash',
  ]) {
    const ko = await served(`import "${specifier}";\nexport function run() { return 1; }`);
    const [endpoint] = await service.endpoints(ko.naan);
    assert.equal(endpoint?.['status'], 'FAILED_TO_ACTIVATE', specifier);
    assert.ok(String(endpoint['detail']).includes(specifier), String(endpoint['detail']));
  }
});

test('the words import and export in text or comments make no module', async () => {
  const code =
    '// import x from "y"\nconst s = "export default 5"; /* export */\nfunction run() { undeclared = s; return undeclared; }';
  assert.equal(await resultOf(await served(code)), 'export default 5');
});

test('console works and does not reach the caller or the output of the host', async () => {
  const code = `function run() {
    console.log("said", { a: 1 }); console.info(1); console.warn("w"); console.error(new Error("e")); console.debug(undefined);
    return "fine"; }`;
  const answer = await service.post(pathOf(await served(code)), {});
  assert.equal(answer.object['result'], 'fine');
  assert.ok(!answer.text.includes('said'));
});

test('undefined, functions and symbols as result become null', async () => {
  for (const value of [
    'undefined',
    '() => 1',
    'Symbol("x")',
    'null',
    'Promise.resolve()',
    'Promise.resolve(() => 1)',
  ]) {
    const ko = await served(`function run() { return ${value}; }`);
    assert.equal(await resultOf(ko), null, value);
  }
  assert.equal(await resultOf(await served('function run() {}')), null);
});

test('results are what JSON makes of them', async () => {
  const code = `function run() { return { date: new Date(0), none: null, gone: undefined, fn() {}, list: [undefined, Symbol()],
    own: { toJSON() { return "json"; } }, map: new Map([[1, 2]]), zero: -0, text: "\\u2028\\ud800" }; }`;
  assert.deepEqual(await resultOf(await served(code)), {
    date: '1970-01-01T00:00:00.000Z',
    none: null,
    list: [null, null],
    own: 'json',
    map: {},
    zero: 0,
    text: '\u2028\ud800',
  });
});

test('code says that its input is invalid by an InvalidInputError of status 400 or 422', async () => {
  const ko = await served(
    'function run({ status }) { throw Object.assign(new Error("age is missing"), { name: "InvalidInputError", status }); }',
  );
  for (const status of [400, 422])
    assertRequestError(await service.post(pathOf(ko), { status }), {
      status,
      path: pathOf(ko),
      title: 'Invalid Input',
      detail: /^age is missing$/,
    });
  assertRequestError(await service.post(pathOf(ko), { status: 404 }), {
    status: 500,
    path: pathOf(ko),
    title: 'General Adapter Exception',
    detail: /^Code execution error: InvalidInputError: age is missing$/,
  });
});

test('values that JSON cannot hold are an execution error', async () => {
  const bodies = [
    'const a = {}; a.a = a; return a',
    'return 5n',
    'return { x: [5n] }',
    'return { toJSON() { throw new Error("no JSON"); } }',
    'return { list: [1, 0 / 0] }',
    'return -1 / 0',
  ];
  for (const body of bodies) {
    const ko = await served(`function run() { ${body}; }`);
    assertRequestError(await service.post(pathOf(ko), {}), {
      status: 500,
      path: pathOf(ko),
      title: 'General Adapter Exception',
      detail: /^Code execution error: \S/,
    });
  }
});

test('a rejected promise is an execution error, and one that never settles too', async () => {
  const rejected = await served('async function run() { await null; throw new TypeError("later"); }');
  assert.equal((await service.post(pathOf(rejected), {})).object['Detail'], 'Code execution error: TypeError: later');
  const never = await served('function run() { return new Promise(() => {}); }');
  const answer = await service.post(pathOf(never), {});
  assert.equal(answer.status, 500);
  assert.match(String(answer.object['Detail']), /^Code execution error: /);
});

test('whatever is thrown, the caller gets an execution error', async () => {
  const throws = {
    'throw null': /^Code execution error: /,
    'throw undefined': /^Code execution error: /,
    'throw { message: "like an error" }': /like an error/,
    'throw 5': /5/,
    'throw { get message() { throw 1; } }': /^Code execution error: /,
    'const e = new Error("x"); Object.defineProperty(e, "message", { get() { throw 1; } }); throw e':
      /^Code execution error: /,
    'throw { toString() { throw 2; } }': /^Code execution error: /,
    'throw Symbol("s")': /^Code execution error: /,
    'throw () => 1': /^Code execution error: /,
    'function deep() { deep(); } deep()': /RangeError: Maximum call stack size exceeded/,
  };
  for (const [code, detail] of Object.entries(throws)) {
    const ko = await served(`function run() { ${code}; }`);
    const expected = { status: 500, path: pathOf(ko), title: 'General Adapter Exception', detail };
    assertRequestError(await service.post(pathOf(ko), {}), expected);
  }
});

test('nothing of Node, the file system, the network or a browser is there', async () => {
  const names = [
    'process',
    'require',
    'Buffer',
    'fetch',
    'XMLHttpRequest',
    'WebSocket',
    'setImmediate',
    'navigator',
    'window',
    'document',
  ];
  const code = `function run() { return ${JSON.stringify(names)}.filter((name) => {
    try { return typeof eval(name) !== "undefined"; } catch { return false; } }); }`;
  assert.deepEqual(await resultOf(await served(code)), []);
  const escapes = `async function run() {
    const found = [];
    for (const make of [
      () => this.constructor.constructor("return process")(),
      () => Function("return process")(), () => (async () => {}).constructor("return process")(),
      () => context.constructor.constructor("return process")(),
      () => console.log.constructor("return process")(),
      () => context.getExecutor.constructor("return process")(),
      () => import("node:fs"), () => import("fs"), () => require("fs"),
    ]) { try { const got = await make(); if (got !== undefined && got !== null) found.push(String(make)); } catch {} }
    return found; }`;
  assert.deepEqual(await resultOf(await served(escapes)), []);
});

test('globals live as long as the isolate, or one call with isolation: call', async () => {
  const code = 'let n = 0; globalThis.seen ??= 0; function run() { seen++; return [++n, seen]; }';
  const kept = await served(code);
  assert.deepEqual(
    [await resultOf(kept), await resultOf(kept)],
    [
      [1, 1],
      [2, 2],
    ],
  );
  const fresh = await served(code, { deployment: { isolation: 'call' } });
  assert.deepEqual(
    [await resultOf(fresh), await resultOf(fresh)],
    [
      [1, 1],
      [1, 1],
    ],
  );
  const together = await Promise.all(Array.from({ length: 20 }, () => resultOf(fresh)));
  assert.ok(together.every((result) => JSON.stringify(result) === '[1,1]'));
});

test('KOs never see each other’s globals or changes to built-ins', async () => {
  const spoiler = await served(`function run() {
    JSON.stringify = () => '"stolen"'; JSON.parse = () => "stolen"; Array.prototype.map = null; globalThis.shared = 1;
    Object.prototype.polluted = true; Promise.prototype.then = null; String.prototype.split = null; return "spoiled"; }`);
  const victim = await served(`async function run(input) {
    return [typeof shared, ({}).polluted === undefined, [1].map((x) => x + 1), await Promise.resolve(input), "a,b".split(",")]; }`);
  await service.post(pathOf(spoiler), {});
  assert.deepEqual(await resultOf(victim, { a: 1 }), ['undefined', true, [2], { a: 1 }, ['a', 'b']]);
  await service.post(pathOf(spoiler), {});
  assert.equal((await service.get('/actuator/health')).status, 200);
});

test('one caller’s result never reaches another, whatever the code does', async () => {
  const code = `
    const kept = [];
    let release;
    function run(input) {
      JSON.stringify = () => '"forged"\\n"forged"'; Array.prototype.join = () => "forged"; String.prototype.concat = () => "forged";
      Object.defineProperty(Array.prototype, "0", { set() {}, configurable: true });
      kept.push(input.secret);
      if (input.wait) return { then(ok) { release = ok; kept.push(ok); } };
      if (input.release && release) { try { release("for " + input.secret); } catch {} }
      for (const ok of kept) if (typeof ok === "function") try { ok("late " + input.secret); } catch {}
      return { mine: input.secret, odd: "\\u0000\\n~1!?" };
    }`;
  const ko = await served(code, { naan: uniqueNaan() });
  const calls = Array.from({ length: 60 }, async (_, n) => {
    const answer = await service.post(pathOf(ko), { secret: `s${n}`, wait: n % 3 === 0, release: n % 3 === 1 });
    const info = answer.object['info'] as { inputs: string } | undefined;
    if (answer.status === 200 && n % 3 !== 0) {
      assert.deepEqual(answer.object['result'], { mine: `s${n}`, odd: '\u0000\n~1!?' });
      assert.ok(info?.inputs.includes(`"s${n}"`));
    } else if (n % 3 !== 0) assert.fail(answer.text);
  });
  await Promise.all(calls);
});

test('context.getProperty gives nothing that is not allowed', async () => {
  const code =
    'function run() { return ["PATH", "KGRID_PASSWORD", "user.home", "__proto__", "constructor"].map((n) => context.getProperty(n) ?? null); }';
  assert.deepEqual(await resultOf(await served(code)), [null, null, null, null, null]);
});
