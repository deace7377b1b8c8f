import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TestActivator } from './activator.ts';
import { secret, TestRuntime } from './runtime.ts';

const code = `const helper = require('./lib/helper.js');
class InvalidInputError extends Error {
  name = 'InvalidInputError';
  constructor(message, status) { super(message); this.status = status; }
}
const nested = () => global.cxt.getExecutorByID('other/ko/1.0/run').execute({});
module.exports = (how) => ({
  invalid: () => { throw new InvalidInputError('age must be\\na number', 422); },
  bad: async () => { throw Object.assign(new Error('no age'), { name: 'InvalidInputError', status: 400 }); },
  plain: () => { throw { name: 'InvalidInputError', status: 400, message: 'no Error' }; },
  silent: () => { throw new InvalidInputError('', 400); },
  timer: () => new Promise(() => setTimeout(() => { throw new InvalidInputError('later', 422); })),
  teapot: () => { throw new InvalidInputError('tea', 418); },
  text: () => { throw new InvalidInputError('text', '400'); },
  bare: () => { throw Object.assign(new Error('from HTTP'), { status: 400 }); },
  nameless: () => { throw Object.assign(new Error('no name'), { name: 'Other', status: 422 }); },
  nested,
  renamed: () => nested().catch((error) => { throw Object.assign(error, { name: 'InvalidInputError', status: 422 }); }),
  own: () => nested().catch(() => { throw new InvalidInputError('the other one did not like it', 422); }),
  score: () => ({ score: NaN }),
  list: async () => ({ list: [1, 2, 3, { x: -Infinity }] }),
  number: () => Infinity,
  deep: () => helper.fail(),
  library: () => JSON.parse('{'),
  faked: () => { const error = new Error('x'); error.stack = 7; throw error; },
  late: () => { require('left-pad/sub'); },
  scoped: () => import('@scope/name'),
  relative: () => { require('./none.js'); },
})[how]();
`;
const helper = `
exports.fail = () => {
  throw new TypeError('deep inside');
};`;
const uri = 'failing/ko/1.0/run';

describe('a call that has no result', () => {
  let activator: TestActivator;
  let runtime: TestRuntime;
  before(async () => {
    activator = await TestActivator.start();
    runtime = await TestRuntime.start(activator);
    const files = { 'src/index.js': code, 'src/lib/helper.js': helper };
    assert.equal((await runtime.activate({ uri, ko: 'failing/ko/v1', files })).status, 200);
    const body = { Status: '422', Title: 'Invalid Input', Detail: 'not that' };
    activator.onCall = () => Promise.resolve({ status: 422, body });
  });
  after(async () => {
    await runtime[Symbol.asyncDispose]();
    await activator[Symbol.asyncDispose]();
  });

  const faults: [how: string, status: number, body: object][] = [
    ['invalid', 422, { title: 'Invalid Input', description: 'age must be a number' }],
    ['bad', 400, { title: 'Invalid Input', description: 'no age' }],
    ['plain', 400, { title: 'Invalid Input', description: 'no Error' }],
    ['silent', 400, { title: 'Invalid Input', description: 'the input is invalid' }],
    ['timer', 422, { title: 'Invalid Input', description: 'later' }],
    ['own', 422, { title: 'Invalid Input', description: 'the other one did not like it' }],
    ['teapot', 400, { description: 'InvalidInputError: tea', place: { file: 'src/index.js', line: 13 } }],
    ['text', 400, { description: 'InvalidInputError: text', place: { file: 'src/index.js', line: 14 } }],
    ['bare', 400, { description: 'Error: from HTTP', place: { file: 'src/index.js', line: 15 } }],
    ['nameless', 400, { description: 'Other: no name', place: { file: 'src/index.js', line: 16 } }],
    ['nested', 400, { description: 'Error: not that' }],
    ['renamed', 400, { description: 'InvalidInputError: not that' }],
    ['score', 500, { description: 'the result holds NaN at result.score' }],
    ['list', 500, { description: 'the result holds -Infinity at result.list[3].x' }],
    ['number', 500, { description: 'the result holds Infinity at result' }],
    ['deep', 400, { description: 'TypeError: deep inside', place: { file: 'src/lib/helper.js', line: 3 } }],
    ['faked', 400, { description: 'Error: x' }],
    [
      'late',
      400,
      {
        description:
          "Error: Cannot find module 'left-pad/sub': the package left-pad is not installed; add it to the dependencies of a package.json among the artifacts",
        place: { file: 'src/index.js', line: 26 },
      },
    ],
    [
      'scoped',
      400,
      {
        description:
          "Error: Cannot find package '@scope/name' imported from src/index.js: the package @scope/name is not installed; add it to the dependencies of a package.json among the artifacts",
      },
    ],
    [
      'relative',
      400,
      { description: "Error: Cannot find module './none.js'", place: { file: 'src/index.js', line: 28 } },
    ],
  ];

  /** Whose fault it is, where it is not the input's. */
  const withFault = (body: object): object =>
    'title' in body
      ? body
      : {
          ...body,
          fault: /^the result holds/.test(String(Reflect.get(body, 'description'))) ? 'invalid-result' : 'code-error',
        };

  for (const [how, status, body] of faults) {
    it(`says why, where, and whose fault it is (${how})`, async () => {
      const reply = await runtime.post(uri, JSON.stringify(how));
      assert.deepEqual([reply.status, reply.body], [status, withFault(body)]);
    });
  }

  it('says the same in a batch, to an activator that understands it', async () => {
    const found = await batch('application/vnd.kgrid.answers;failures=json, application/json');
    for (const [i, [how, status, body]] of faults.entries())
      assert.deepEqual(JSON.parse(found.get(i)?.slice(1) ?? ''), { status, ...withFault(body) }, how);
  });

  it('says what others understand in a batch for one that does not', async () => {
    const found = await batch('application/json, */*;q=0.5');
    for (const [i, [, status, body]] of faults.entries())
      assert.equal(found.get(i), `!${status},${(body as { description: string }).description}`);
  });

  it('has the place of code that is no CommonJS', async () => {
    const files = {
      'src/a b.mjs': '\nexport default () => {\n  null.x;\n};',
      'src/index.mjs': 'export { default } from "./a b.mjs";',
    };
    await runtime.activate({ uri: 'failing/esm/1.0/run', ko: 'failing/esm/v1', entry: 'src/index.mjs', files });
    const { body } = await runtime.post('failing/esm/1.0/run', 'null');
    assert.deepEqual(body['place'], { file: 'src/a b.mjs', line: 3 });
  });

  /** All of them at once. @returns what follows the number of each. */
  async function batch(accept: string): Promise<Map<number, string>> {
    const response = await fetch(`${runtime.url}/${uri}`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.kgrid.calls', 'x-kgrid-runtime-secret': secret, accept },
      body: faults.map(([how]) => JSON.stringify(how)).join('\0'),
    });
    const records = (await response.text()).slice(0, -1).split('\0');
    return new Map(records.map((record) => [Number.parseInt(record), record.replace(/^\d+/, '')]));
  }
});
