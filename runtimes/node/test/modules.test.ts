import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TestActivator } from './activator.ts';
import { TestRuntime, type Activation } from './runtime.ts';

type Case = [name: string, activation: Activation, input: unknown, result: unknown];

const helper = { 'src/lib/helper.js': 'module.exports = { twice: (x) => 2 * x };' };
const esHelper = { 'src/lib/helper.mjs': 'export const twice = (x) => 2 * x;' };

const working: Case[] = [
  ['module.exports is the function', { files: { 'src/index.js': 'module.exports = (x) => x.a;' } }, { a: 1 }, 1],
  ['exports.name', { files: { 'src/index.js': 'exports.other = () => 0; exports.run = (x) => x + 1;' } }, 1, 2],
  [
    'a named function of several',
    { files: { 'src/index.js': 'module.exports = { run, no }; function run(x) { return x; } function no() {}' } },
    'a',
    'a',
  ],
  [
    'an async function',
    { files: { 'src/index.js': 'module.exports = async (x) => { await null; return x; };' } },
    [1],
    [1],
  ],
  [
    'relative requires',
    { files: { ...helper, 'src/index.js': "const { twice } = require('./lib/helper'); module.exports = twice;" } },
    4,
    8,
  ],
  [
    'an ES module with a default export',
    {
      entry: 'src/index.mjs',
      files: {
        ...esHelper,
        'src/index.mjs': "import { twice } from './lib/helper.mjs'; export default (x) => twice(x);",
      },
    },
    4,
    8,
  ],
  [
    'an ES module with a named export',
    { files: { 'src/index.js': 'export const run = (x) => x; export default () => 0;' } },
    4,
    4,
  ],
  [
    'ES modules by package.json',
    {
      files: { 'package.json': '{"type": "module"}', 'src/index.js': 'const x = await 5; export const run = () => x;' },
    },
    0,
    5,
  ],
  [
    'a file that it reads',
    {
      files: {
        'src/data.json': '{"v": 7}',
        'src/index.js':
          "const fs = require('fs'); module.exports = () => JSON.parse(fs.readFileSync(__dirname + '/data.json')).v + require('./data.json').v;",
      },
    },
    0,
    14,
  ],
  ['an undefined result', { files: { 'src/index.js': 'module.exports = () => {};' } }, 0, null],
  ['a function as result', { files: { 'src/index.js': 'module.exports = () => () => 1;' } }, 0, null],
];

const failing: [name: string, activation: Activation, description: RegExp][] = [
  [
    'a missing function',
    { files: { 'src/index.js': 'exports.start = () => 1;' } },
    /^src\/index\.js has no function run; it exports start$/,
  ],
  ['no export', { files: { 'src/index.js': 'function run() {}' } }, /it exports nothing$/],
  [
    'a syntax error',
    { files: { 'src/index.js': 'let a;\nlet a;' } },
    /^SyntaxError: .*'a' has already been declared \(src\/index\.js line 2\)$/,
  ],
  [
    'a syntax error in an ES module',
    { entry: 'src/index.mjs', files: { 'src/a.mjs': '\n\nlet a; let a;', 'src/index.mjs': "import './a.mjs';" } },
    /^SyntaxError: .*'a' has already been declared \(src\/a\.mjs line 3\)$/,
  ],
  [
    'an exception while loading',
    { files: { 'src/index.js': '\nnull.x;' } },
    /^TypeError: Cannot read properties of null .* \(src\/index\.js line 2\)$/,
  ],
  [
    'a missing package',
    { files: { 'src/index.js': "require('left-pad');" } },
    /^Error: Cannot find module 'left-pad': the package left-pad is not installed; add it to the dependencies of a package\.json among the artifacts \(src\/index\.js line 1\)$/,
  ],
  [
    'a missing package in an ES module',
    { entry: 'src/index.mjs', files: { 'src/index.mjs': "import 'left-pad';" } },
    /^Error: Cannot find package 'left-pad' imported from src\/index\.mjs: the package left-pad is not installed; add it to/,
  ],
  ['an end of the process', { files: { 'src/index.js': 'process.exit(3);' } }, /ended unexpectedly \(exit code 3\)$/],
];

describe('the forms that the code of a knowledge object may have', () => {
  let activator: TestActivator;
  let runtime: TestRuntime;
  before(async () => {
    activator = await TestActivator.start();
    runtime = await TestRuntime.start(activator);
  });
  after(async () => {
    await runtime[Symbol.asyncDispose]();
    await activator[Symbol.asyncDispose]();
  });

  for (const [index, [name, activation, input, result]] of working.entries()) {
    it(`runs ${name}`, async () => {
      const uri = `works/ko${index}/1.0/run`;
      const activated = await runtime.activate({ ...activation, uri, ko: `works/ko${index}/v1` });
      assert.deepEqual([activated.status, activated.body['description']], [200, undefined]);
      assert.deepEqual((await runtime.post(uri, JSON.stringify(input))).body, { result });
    });
  }

  for (const [index, [name, activation, description]] of failing.entries()) {
    it(`says what is wrong: ${name}`, async () => {
      const { status, body } = await runtime.activate({
        ...activation,
        uri: `fails/ko${index}/1.0/run`,
        ko: `fails/ko${index}/v1`,
      });
      assert.equal(status, 500);
      assert.match(String(body['description']), description);
    });
  }

  it('gives inputs as what their content type says', async () => {
    const uri = 'types/ko/1.0/run';
    const files = { 'src/index.js': 'module.exports = (x) => [typeof x, x];' };
    await runtime.activate({ uri, ko: 'types/ko/v1', files });
    for (const [type, body, result] of [
      ['application/json; charset=utf-8', '{"ä": "😀"}', ['object', { ä: '😀' }]],
      ['application/fhir+json', '3', ['number', 3]],
      ['text/plain', '{"a": 1}\n\u0000,', ['string', '{"a": 1}\n\u0000,']],
      ['application/xml', '', ['string', '']],
    ] as const) {
      assert.deepEqual((await runtime.post(uri, body, { 'content-type': type })).body, { result });
    }
    const malformed = await runtime.post(uri, '{"a":');
    assert.equal(malformed.status, 400);
    assert.match(String(malformed.body['description']), /^SyntaxError: /);
  });
});
