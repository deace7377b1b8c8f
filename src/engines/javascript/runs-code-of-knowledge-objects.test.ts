import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type PlanParts, TestJavascript } from '../../../test/support/javascript.ts';

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

test('what a script exports by the name goes before a global of that name, as in bundles of several files', async () => {
  const codes = [
    'function* run() {} function run2(n) { return n + 1; } module.exports = { run: run2 };',
    'var e = {}; Object.defineProperty(e, "run", { get: () => run2 }); module.exports = e; function run() {} var run2 = (n) => n + 1;',
    'function run(n) { return n + 1; } module.exports = function other() {};',
    'function toString(n) { return n + 1; } module.exports = {}; var run = toString;',
  ];
  for (const code of codes) assert.equal(await resultOf(code, 1), 2, code);
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
