import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { EXECUTION_TIMEOUT_MS, type PlanParts, TestJavascript } from '../../../test/support/javascript.ts';
import { uptime } from '../../lib/time.ts';

const javascript = new TestJavascript({ properties: { place: 'here' } });
after(() => javascript[Symbol.asyncDispose]());

const resultOf = async (code: string, input?: unknown, parts?: PlanParts): Promise<unknown> =>
  javascript.call(await javascript.activate(code, parts), input);

async function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    (result) => assert.fail(`it gave ${JSON.stringify(result)}`),
    (thrown: Error) => thrown.message,
  );
}

test('a function is found however it is declared, and gets the parsed input', async () => {
  const codes = [
    'function run(input) { return input.n + 1; }',
    'const run = (input) => input.n + 1;',
    'var run = (function () { return { f: (input) => input.n + 1 }; })().f;',
    'module.exports = async function (input) { return input.n + 1; };',
    'exports.run = (input) => input.n + 1;',
    'export async function run(input) { return input.n + 1; }',
    'export default (input) => input.n + 1;',
  ];
  for (const code of codes) assert.equal(await resultOf(code, { n: 1 }), 2, code);
});

test('what a script exports by the name goes before a global of that name, as in bundles of several files', async () => {
  const codes = [
    'function* run() {} function run2(n) { return n + 1; } module.exports = { run: run2 };',
    'var e = {}; Object.defineProperty(e, "run", { get: () => run2 }); module.exports = e; function run() {} var run2 = (n) => n + 1;',
    'function run(n) { return n + 1; } module.exports = function other() {};',
    'function toString(n) { return n + 1; } module.exports = {}; var run = toString;',
  ];
  for (const code of codes) assert.equal(await resultOf(code, 1), 2, code);
});

test('other artifacts are imported by their relative paths', async () => {
  const files = {
    'src/lib/half.mjs': 'export { half } from "../half.js";',
    'src/half.js': 'export const half = (n) => n / 2;',
  };
  const code = 'import { half } from "./lib/half.mjs"; export const run = (n) => half(n);';
  assert.equal(await resultOf(code, 5, { entry: 'src/main.mjs', files }), 2.5);
});

test('what cannot be loaded is told with file and line', async () => {
  const details: [code: string, parts: PlanParts, detail: RegExp][] = [
    ['function run() {\n  return (;\n}', {}, /SyntaxError: Unexpected token ';'.*src\/index\.js line 2/],
    [
      'const a = 1;\n\nmissing();\nfunction run() {}',
      {},
      /ReferenceError: missing is not defined.*src\/index\.js line 3/,
    ],
    ['throw "a text"; function run() {}', {}, /^a text \(src\/index\.js\)$/],
    ['import { x } from "./none.mjs"; export const run = x;', {}, /none\.mjs/],
    ['export const run = 1;', {}, /run/],
    ['function other() {}', {}, /\brun\b.*src\/index\.js|src\/index\.js.*\brun\b/],
    ['export const run = () => 1;', { function: 'walk' }, /\bwalk\b/],
  ];
  for (const [code, parts, detail] of details) {
    const message = await failureOf(javascript.activate(code, parts));
    assert.match(message, detail, code);
    assert.doesNotMatch(message, /node_modules|isolated|file:\/\//);
  }
});

test('a top level that does not end, or needs too much memory, fails the activation', async () => {
  const options = { timeout: 300 };
  assert.equal(
    await failureOf(javascript.activate('for (;;);', { options })),
    'the top level of src/index.js does not end within 0.3 s; move long work into the function',
  );
  assert.equal(
    await failureOf(javascript.activate('const all = []; for (;;) all.push(new Array(1e5).fill({}));')),
    'the top level of src/index.js needs more than 32 MB of memory',
  );
});

test('what code throws is an execution error in the words of the engine', async () => {
  const code = 'function run(how) { if (how === "type") null.x; if (how === "text") throw "a text"; return how; }';
  const executor = await javascript.activate(code);
  assert.equal(
    await failureOf(javascript.call(executor, 'type')),
    "Code execution error: TypeError: Cannot read properties of null (reading 'x')",
  );
  assert.match(await failureOf(javascript.call(executor, 'text')), /^Code execution error: .*a text/);
  assert.equal(await javascript.call(executor, 'fine'), 'fine');
});

test('a call beyond its time is told who set the limit', async () => {
  const code = 'function run() { for (;;); }';
  const hurried = await javascript.activate(code, { options: { timeout: 300 } });
  await assert.rejects(javascript.call(hurried), {
    message: 'Code execution error: no result within the limit of 0.3 s (timeout in its deployment descriptor)',
  });
});

test('a result that is too large, or that JSON cannot hold, is an execution error', async () => {
  const code = `function run(how) {
    if (how === 'large') return 'x'.repeat(2 ** 21);
    if (how === 'big') return 1n;
    const cycle = {}; cycle.self = cycle; return cycle;
  }`;
  const executor = await javascript.activate(code);
  assert.match(await failureOf(javascript.call(executor, 'large')), /^Code execution error: .*limit/);
  assert.match(await failureOf(javascript.call(executor, 'big')), /^Code execution error: .*BigInt/);
  assert.match(await failureOf(javascript.call(executor, 'cycle')), /^Code execution error: .*circular/i);
});

test('a body that is no JSON is the fault of the caller, a text is one', async () => {
  const executor = await javascript.activate('function run(input) { return typeof input + ":" + input; }');
  await assert.rejects(javascript.call(executor, null, { body: '{"a":' }), { code: 'body-not-readable' });
  await assert.rejects(javascript.call(executor, null, { body: '"a\0b"' }), { code: 'body-not-readable' });
  assert.equal(await javascript.call(executor, null, { body: '1\0"\n', json: false }), 'string:1\0"\n');
});

test('globals live between calls, or for one call with isolation: call', async () => {
  const code = 'var n = 0; function run() { return ++n; }';
  const kept = await javascript.activate(code);
  assert.deepEqual([await javascript.call(kept), await javascript.call(kept)], [1, 2]);
  const fresh = await javascript.activate(code, { options: { isolation: 'call' } });
  assert.deepEqual([await javascript.call(fresh), await javascript.call(fresh)], [1, 1]);
});

test('what code prints is in the log under its knowledge object, and properties can be read', async () => {
  assert.equal(
    await resultOf('function run() { console.warn("seen", 1); return context.getProperty("place"); }'),
    'here',
  );
  const line = javascript.log.find(({ console: printed }) => printed === true);
  assert.deepEqual([line?.['ko'], line?.['msg']], ['a/b/v1.0', 'seen 1']);
});

test('code calls other endpoints, and itself, to the depth that is allowed', async () => {
  const id = 'a/deep/1.0/run';
  const deep = await javascript.activate(
    `function run(n) { try { return context.getExecutor("${id}").execute(n + 1); } catch { return n; } }`,
    { id },
  );
  assert.equal(await javascript.call(deep, 0), 16);
  assert.equal(await javascript.call(deep, 0, { depth: 10 }), 6, 'counted from where the call came');
  await assert.rejects(javascript.call(deep, 0, { depth: 17 }), /16 deep, and a\/deep\/1\.0\/run is one too many/);
  assert.equal(await resultOf('function run() { return context.getExecutor("a/none/1.0/run"); }'), null);
});

test('an endpoint of another engine is called by its executor, and its error is the caller’s', async () => {
  const id = 'other/engine/1.0/run';
  const seen: unknown[] = [];
  javascript.active.set(id, {
    execute: ({ body, contentType, json, depth, deadline }) => {
      seen.push([body, contentType, json, depth, deadline <= uptime() + EXECUTION_TIMEOUT_MS]);
      return body === '1' ? Promise.resolve('{"from":"elsewhere"}') : Promise.reject(new Error('it refused'));
    },
    dispose: () => undefined,
  });
  const caller = await javascript.activate(`function run(n) { return context.getExecutor("${id}").execute(n).from; }`);
  assert.equal(await javascript.call(caller, 1, { depth: 3 }), 'elsewhere');
  assert.deepEqual(seen, [['1', 'application/json', true, 4, true]]);
  assert.match(await failureOf(javascript.call(caller, 2)), /^Code execution error: .*it refused/);
});
