import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TestJavascript } from '../../../test/support/javascript.ts';
import { ServiceError } from '../../lib/errors.ts';
import { placeIn } from './stack-place.ts';

const javascript = new TestJavascript();
after(() => javascript[Symbol.asyncDispose]());

async function errorOf(work: Promise<unknown>): Promise<ServiceError> {
  const thrown = await work.then(
    (value) => assert.fail(`it gave ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof ServiceError);
  return thrown;
}

const failing = async (body: string, more: Parameters<TestJavascript['activate']>[1] = {}): Promise<ServiceError> =>
  errorOf(javascript.call(await javascript.activate(`${THROW}\nfunction run(input) { ${body} }`, more), {}));
const THROW =
  'const fault = (more) => Object.assign(new Error("age is missing"), { name: "InvalidInputError" }, more);';

test('a bare status, another name and another number are failures of the code', async () => {
  const bodies = [
    'throw Object.assign(new Error("x"), { status: 400 });',
    'throw fault({});',
    'throw fault({ status: "400" });',
    'throw fault({ status: 404 });',
    'throw fault({ status: 500 });',
    'throw fault({ status: 400, name: "InvalidInput" });',
    'throw "InvalidInputError";',
    'throw Object.defineProperty(fault({}), "status", { get() { throw 1; } });',
  ];
  for (const body of bodies) {
    const { code, status } = await failing(body);
    assert.deepEqual([code, status], ['code-error', 500], body);
  }
});

test('the error of a nested call is never the fault of the input, unless the code says so itself', async () => {
  const id = 'a/picky/1.0/run';
  await javascript.activate(`${THROW} function run() { throw fault({ status: 422 }); }`, { id });
  const call = `context.getExecutor("${id}").execute({})`;
  const passed = await failing(`return ${call};`);
  assert.deepEqual([passed.status, passed.message], [500, 'Code execution error: Error: age is missing']);
  const marked = `try { ${call}; } catch (e) { throw Object.assign(e, { name: "InvalidInputError", status: 400 }); }`;
  assert.equal((await failing(marked)).status, 500);
  const polluted = 'Object.assign(Error.prototype, { name: "InvalidInputError", status: 400 });';
  assert.equal((await failing(`${polluted} return ${call};`)).status, 500);
  const own = await failing(
    `try { ${call}; } catch (e) { throw fault({ status: 400, message: "because " + e.message }); }`,
  );
  assert.deepEqual([own.status, own.message], [400, 'because age is missing']);
  javascript.active.set('other/engine/1.0/run', {
    execute: () => Promise.reject(Object.assign(new Error('no'), { name: 'InvalidInputError', status: 400 })),
    dispose: () => undefined,
  });
  assert.equal((await failing('return context.getExecutor("other/engine/1.0/run").execute({});')).status, 500);
});

test('a failure of code has its place beside the message', async () => {
  const files = {
    'src/words.js': '\n\nexports.bad = () => null.x;',
    'src/words.mjs': '\nexport const bad = () => null.x;',
  };
  const code = 'const { bad } = require("./words.js");\nfunction run() {\n  bad();\n}';
  const inRequired = await errorOf(javascript.call(await javascript.activate(code, { files })));
  assert.deepEqual(inRequired.place, { file: 'src/words.js', line: 3 });
  assert.doesNotMatch(inRequired.message, /words/);
  const module = 'import { bad } from "./words.mjs";\nexport async function run() {\n  await null;\n  bad();\n}';
  const inModule = await errorOf(javascript.call(await javascript.activate(module, { files, entry: 'src/index.mjs' })));
  assert.deepEqual(inModule.place, { file: 'src/words.mjs', line: 2 });
  const places = {
    'throw new Error("x");': { file: 'src/index.js', line: 2 },
    'throw new Error("a\\n    at b (src/other.js:7:1)");': { file: 'src/index.js', line: 2 },
    'Promise.reject(new Error("unhandled"));': { file: 'src/index.js', line: 2 },
    'eval("null.x");': { file: 'src/index.js', line: 2 },
    'return context.getExecutor("a/none/1.0/run").execute();': { file: 'src/index.js', line: 2 },
    'throw "no error";': undefined,
    'throw Object.assign(new Error("x"), { stack: 7 });': undefined,
    'throw Object.assign(new Error("x"), { stack: "Error\\n    at run (/etc/passwd:1:1)" });': undefined,
    'throw Object.defineProperty(new Error("x"), "stack", { get() { throw 1; } });': undefined,
    'return NaN;': undefined,
  };
  for (const [body, place] of Object.entries(places)) {
    const { place: found, message } = await failing(body);
    assert.deepEqual(found, place, body);
    assert.doesNotMatch(message, /index\.js/);
  }
});

test('only the files of the package are places, however the stack is written', () => {
  const files = new Set(['src/a.js', 'src/b (1).js', 'src/async c.js']);
  const find = (stack: string): unknown => placeIn(stack, (file) => files.has(file));
  assert.deepEqual(find('    at run (src/a.js:3:4)'), { file: 'src/a.js', line: 3, column: 4 });
  assert.deepEqual(find('    at async src/a.js:3:4'), { file: 'src/a.js', line: 3, column: 4 });
  assert.deepEqual(find('    at f (src/b (1).js:5:6)'), { file: 'src/b (1).js', line: 5, column: 6 });
  assert.deepEqual(find('    at JSON.parse (<anonymous>)\n    at g (src/a.js:1:2)'), {
    file: 'src/a.js',
    line: 1,
    column: 2,
  });
  for (const stack of ['', 'src/a.js', '    at run (src/a.js:x:1)', '    at run (src/x.js:1:1)', ':1:1'.repeat(1e6)])
    assert.equal(find(stack), undefined);
});
