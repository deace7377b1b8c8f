import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { promised } from '../support/promised.ts';
import { inRound } from '../support/round.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import type { RuntimeKoParts } from './support/runtime-ko.ts';
import { until } from './support/until.ts';
import { theWorkersService } from './support/the-services.ts';

const naan = uniqueNaan();
const { service } = await theWorkersService();

type Code = RuntimeKoParts['code'] | string;
const nodeKo = (name: string, code: Code, parts: Partial<RuntimeKoParts> = {}): Ko =>
  runtimeKo({ naan, name, engine: 'node', code: typeof code === 'string' ? { 'src/index.js': code } : code, ...parts });
const pythonKo = (name: string, code: Code, parts: Partial<RuntimeKoParts> = {}): Ko =>
  runtimeKo({
    naan,
    name,
    engine: 'python',
    code: typeof code === 'string' ? { 'src/main.py': code } : code,
    ...parts,
  });

async function resultOf(ko: Ko, input: unknown = {}): Promise<unknown> {
  const answer = await service.post(pathOf(ko), input);
  assert.equal(answer.status, 200, answer.text);
  return answer.object['result'];
}

/** Imports all, and activates them at once. */
async function serve(...kos: Ko[]): Promise<void> {
  await service.add(...kos);
  await Promise.all(kos.map((ko) => service.reload(ko)));
  for (const { id } of kos) {
    for (const each of await service.endpoints(id.slice(0, id.lastIndexOf('/')))) {
      assert.equal(each['status'], 'ACTIVATED', JSON.stringify(each));
    }
  }
}

const call = (id: string, input = 'input'): string =>
  `global.cxt.getExecutorByID("${naan}/${id}/1.0/run").execute(${input})`;

test('the runtimes are there, up, and known by their engine', async () => {
  const found = await until('both have registered', async () => {
    // Those of others, which other tests register here, have an address.
    const own = (await service.get('/proxy/environments')).list.filter(({ url }) => url === undefined);
    return own.length === 2 ? own : undefined;
  });
  assert.deepEqual(found.map(({ engine, status }) => [engine, status]).sort(), [
    ['node', 'up'],
    ['python', 'up'],
  ]);
  const { components } = (await service.get('/actuator/health')).object as {
    components: Record<string, { status: string }>;
  };
  assert.deepEqual([components['nodeEngine']?.status, components['pythonEngine']?.status], ['UP', 'UP']);
});

test('knowledge objects of one and of several files run in node and in python', async () => {
  const commonJs = nodeKo('commonjs', 'module.exports = (input) => ({ sum: input.a + input.b });');
  const modules = nodeKo('modules', {
    'src/index.mjs':
      'import { twice } from "./lib/twice.mjs"; export async function run(input) { return twice(input); }',
    'src/lib/twice.mjs': 'export const twice = (n) => 2 * n;',
  });
  const python = pythonKo('python', {
    'src/main.py': 'from src.helper import half\nimport helper\n\ndef run(x):\n    return [half(x), helper.half(x)]\n',
    'src/helper.py': 'def half(x):\n    return x / 2\n',
  });
  const text = pythonKo('text', 'def run(x):\n    return x.upper()\n', { consumes: ['text/plain'] });
  await serve(commonJs, modules, python, text);
  assert.deepEqual(await resultOf(commonJs, { a: 1, b: 2 }), { sum: 3 });
  assert.equal(await resultOf(modules, 21), 42);
  assert.deepEqual(await resultOf(python, 3), [1.5, 1.5]);
  const answer = await service.post(pathOf(text), 'héllo', { 'content-type': 'text/plain' });
  assert.equal(answer.object['result'], 'HÉLLO');
});

test('a chain crosses the three engines in either direction', async () => {
  const context = 'from kgrid_python_runtime.context import Context\n';
  const executor = (id: string): string => `Context().get_executor_by_id("${naan}/${id}/1.0/run")`;
  await serve(
    javascriptKo('function run(input) { return input.concat("javascript"); }', { naan, name: 'third' }),
    pythonKo('second', `${context}\ndef run(x):\n    return ${executor('third')}(x + ["python"])\n`),
    nodeKo('first', `exports.run = async (input) => ${call('second', 'input.concat("node")')};`),
    nodeKo('last', 'exports.run = (input) => input.concat("node");'),
    pythonKo('middle', `${context}\ndef run(x):\n    return ${executor('last')}(x + ["python"])\n`),
    javascriptKo(
      `function run(input) { return context.getExecutor("${naan}/middle/1.0/run").execute(input.concat("javascript")); }`,
      { naan, name: 'start' },
    ),
  );
  assert.deepEqual(await resultOf(nodeKo('first', ''), []), ['node', 'python', 'javascript']);
  assert.deepEqual(await resultOf(javascriptKo('', { naan, name: 'start' }), []), ['javascript', 'python', 'node']);
});

test('the error of a callee in another engine can be caught, or becomes the caller’s', async () => {
  const callee = nodeKo('refuses', 'exports.run = () => { throw new RangeError("not in range"); };');
  const code = (handler: string): string =>
    `function run() { const e = context.getExecutor("${callee.naan}/refuses/1.0/run"); ${handler} }`;
  const catches = javascriptKo(code('try { e.execute(1); } catch (error) { return String(error.message); }'), {
    naan,
    name: 'catches',
  });
  const passes = javascriptKo(code('return e.execute(1);'), { naan, name: 'passes' });
  await serve(callee, catches, passes);
  assert.match(String(await resultOf(catches)), /RangeError: not in range/);
  const failed = await service.post(pathOf(passes), {});
  assert.equal(failed.status, 500);
  assert.match(String(failed.object['Detail']), /^Code execution error: .*RangeError: not in range/);
});

test('the depth of calls travels through every engine: 16 is the end', async () => {
  // Nothing else that a call fails with counts as the end.
  const orThrow = 'catch (error) { if (!error.message.includes("16 deep")) throw error; return n; }';
  const deployment = { timeout: '120s' };
  const javascript = javascriptKo(
    `function run(n) { try { return context.getExecutor("${naan}/down/1.0/run").execute(n + 1); } ${orThrow} }`,
    { naan, name: 'up', deployment },
  );
  const node = nodeKo(
    'down',
    `exports.run = async (n) => { try { return await ${call('up', 'n + 1')}; } ${orThrow} };`,
    {
      deployment,
    },
  );
  await serve(javascript, node);
  assert.equal(await resultOf(javascript, 0), 16);
  if (inRound(false, true)) assert.equal(await resultOf(node, 0), 16);
});

test('a cycle of engines ends with an error, several at the same time too', async () => {
  const javascript = javascriptKo(
    `function run() { return context.getExecutor("${naan}/round/1.0/run").execute(1); }`,
    { naan, name: 'merry', deployment: { timeout: 4000 } },
  );
  const node = nodeKo('round', `exports.run = () => ${call('merry', '1')};`);
  await serve(javascript, node);
  const began = Date.now();
  const answers = await Promise.all(
    inRound([javascript, node], [javascript, node, javascript, node]).map((ko) => service.post(pathOf(ko), {})),
  );
  const took = Date.now() - began;
  for (const answer of answers) {
    assert.equal(answer.status, 500, answer.text);
    assert.match(String(answer.object['Detail']), /^Code execution error: .*(16 deep|limit|within)/);
  }
  assert.ok(took < promised(25_000), `${took} ms`);
  const after = javascriptKo('function run() { return 1; }', { naan, name: 'after' });
  await serve(after);
  assert.equal(await resultOf(after), 1);
});

test('the time that is left travels with a call', async () => {
  const hangs = nodeKo('hangs', 'exports.run = () => new Promise(() => {});');
  const sleeps = pythonKo('sleeps', 'import time\n\ndef run(x):\n    time.sleep(60)\n');
  const callers = ['hangs', 'sleeps'].map((id) =>
    javascriptKo(`function run() { return context.getExecutor("${naan}/${id}/1.0/run").execute(1); }`, {
      naan,
      name: `of${id}`,
      deployment: { timeout: 600 },
    }),
  );
  await serve(hangs, sleeps, ...callers);
  const began = Date.now();
  const answers = await Promise.all(callers.map((ko) => service.post(pathOf(ko), {})));
  const took = Date.now() - began;
  assert.deepEqual(
    answers.map((each) => each.status),
    [500, 500],
  );
  assert.ok(took >= 500 && took < promised(25_000), `${took} ms`);
});
