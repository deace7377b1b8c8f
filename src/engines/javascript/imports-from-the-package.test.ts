import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TestJavascript } from '../../../test/support/javascript.ts';
import type { PlanParts } from '../../../test/support/javascript.ts';
import { pathOf, pathsIn } from './relative-imports.ts';

const javascript = new TestJavascript();
after(() => javascript[Symbol.asyncDispose]());

const entry = 'service/deno/main.js';
const unlisted = {
  'service/deno/lib/half.mjs': "import { n } from '../../../shared/n.ts'; export const half = () => n / 2;",
  'shared/n.ts': "import table from './table.json' with { type: 'json' };\nexport const n: number = table.n;",
  'shared/table.json': '\uFEFF{ "n": 6, "__proto__": { "x": 1 } }',
  'shared/index.js': 'export default 7;',
  'shared/old.cjs': "exports.n = require('./table').n + require('./table.json').n;",
  'shared/broken.json': '{ "n": }',
};

const resultOf = async (code: string, parts: PlanParts = {}): Promise<unknown> =>
  javascript.call(await javascript.activate(code, { entry, unlisted, ...parts }));
const failureOf = async (code: string, parts: PlanParts = {}): Promise<string> =>
  javascript.activate(code, { entry, unlisted, ...parts }).then(
    () => assert.fail('it was activated'),
    (thrown: Error) => thrown.message,
  );

test('code imports what the package has, listed or not, also from folders above its own', async () => {
  const works: [string, unknown][] = [
    ["import { half } from './lib/half.mjs'; export const run = () => half();", 3],
    ["import n from '../../shared'; export const run = () => n;", 7],
    ["import n from '../../shared'; export const run = () => n;", 7],
    ["import n from '/shared/index.js'; export const run = () => n;", 7],
    ["import { n } from '../../shared/n.js'; export const run = () => n;", 6],
    ["import t from '../../shared/table.json' with { type: 'json' }; export const run = () => t.n;", 6],
    ["import t from '../../shared/table.json' assert { type: 'json' };\nexport const run = () => t.n;", 6],
    ['import t from "../../shared/table.json"; export const run = () => Object.keys(t);', ['n', '__proto__']],
    ["const t = require('../../shared/table.json'); function run() { return t.n; }", 6],
    ["const { n } = require('../../shared/old.cjs'); function run() { return n; }", 12],
    [
      "const t = require('../../shared/' + 'table.json');\n// './../../shared/table.json'\nfunction run() { return t.n; }",
      6,
    ],
  ];
  for (const [code, result] of works) assert.deepEqual(await resultOf(code), result, code);
});

test('what is not in the package is named, with file and line', async () => {
  const details: [string, string][] = [
    ['npm:lodash', "asks for 'npm:lodash': only files of the package can be imported"],
    ['jsr:@std/path', "asks for 'jsr:@std/path': only files of the package can be imported"],
    ['node:fs', "asks for 'node:fs': only files of the package can be imported"],
    ['https://deno.land/x/a.ts', "asks for 'https://deno.land/x/a.ts': only files of the package can be imported"],
    ['lodash', "asks for 'lodash': only files of the package can be imported, by relative path such as './lodash'"],
    ['../../../other/main.js', "asks for '../../../other/main.js', which leads out of the package"],
    ['./none.js', "asks for './none.js', but service/deno/none.js is not in the package"],
  ];
  for (const [wanted, words] of details) {
    const code = `\nimport a from '${wanted}';\nexport const run = () => a;`;
    assert.equal(await failureOf(code), `${entry} ${words} (${entry} line 2, column 15)`);
  }
  const json = "import t from '../../shared/broken.json' with { type: 'json' }; export const run = () => t;";
  assert.match(await failureOf(json), /^shared\/broken\.json is not valid JSON: /);
});

test('what one endpoint imports is bounded', async () => {
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`a${i}.js`, 'export {};']));
  const code = `${Object.keys(many)
    .map((path) => `import '/${path}';`)
    .join('')} export const run = () => 1;`;
  assert.match(await failureOf(code, { unlisted: many }), /^its code imports more than 1000 files .*\(service\/deno/);
  assert.equal(await resultOf(code, { unlisted: {}, files: many }), 1, 'what is listed is not');
  const large = { 'a.json': `"${'x'.repeat(26 * 2 ** 20)}"`, 'b.json': `"${'x'.repeat(26 * 2 ** 20)}"` };
  assert.match(
    await failureOf("import '/a.json'; import '/b.json'; export const run = () => 1;", { unlisted: large }),
    /^its code imports more than 50 MB /,
  );
});

test('paths stay in the package, and are found wherever they stand', () => {
  assert.equal(pathOf('../b.ts', 'a/c.ts'), 'b.ts');
  assert.equal(pathOf('../../b.ts', 'a/c.ts'), undefined);
  assert.equal(pathOf('/../../b.ts', 'a/c.ts'), undefined);
  assert.equal(pathOf('..', 'a/c.ts'), '');
  assert.deepEqual(pathsIn(`import/**/'./a.js'; import("../b.ts") \`/c.json\` 'd.js' ".." './e`, 10), [
    './a.js',
    '../b.ts',
    '/c.json',
    '..',
  ]);
});
