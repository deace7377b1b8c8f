import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan } from './support/ko.ts';
import type { JavascriptParts, Ko } from './support/ko.ts';
import { theService } from './support/the-service.ts';
import { tryAgain } from '../support/try-again.ts';

const service = await theService();
const ko = (naan: string, name: string, code: string, parts: Partial<JavascriptParts> = {}): Ko =>
  javascriptKo(code, { naan, name, ...parts });

async function resultOf(called: Ko, input: unknown = {}): Promise<unknown> {
  const answer = await service.post(pathOf(called), input);
  assert.equal(answer.status, 200, answer.text);
  return answer.object['result'];
}

test('getExecutor calls another KO synchronously', async () => {
  const naan = uniqueNaan();
  const callee = ko(naan, 'callee', 'function run(input) { return { doubled: input.n * 2 }; }');
  const caller = ko(
    naan,
    'caller',
    `function run(input) {
    const executor = context.getExecutor("${naan}/callee/1.0/run");
    return executor.execute({ n: input.n }).doubled + executor.execute({ n: 1 }).doubled; }`,
  );
  await service.serve(callee, caller);
  assert.equal(await resultOf(caller, { n: 20 }), 42);
});

test('getExecutor gives null for an endpoint that is not active', async () => {
  const naan = uniqueNaan();
  const onShelf = ko(naan, 'shelf', 'function run() {}');
  const failed = ko(naan, 'failed', 'function run( {');
  const ids = [
    `${naan}/none/1.0/run`,
    `${naan}/shelf/1.0/run`,
    `${naan}/failed/1.0/run`,
    '',
    'nonsense',
    '../x',
    '__proto__',
  ];
  const caller = ko(
    naan,
    'caller',
    `function run() { return ${JSON.stringify(ids)}.map((id) => context.getExecutor(id)); }`,
  );
  await service.add(onShelf);
  await service.serve(failed, caller);
  assert.deepEqual(
    await resultOf(caller),
    ids.map(() => null),
  );
});

test('an executor is there as soon as its endpoint is active', async () => {
  const naan = uniqueNaan();
  const caller = ko(
    naan,
    'caller',
    `function run() { const e = context.getExecutor("${naan}/late/1.0/run"); return e && e.execute(1); }`,
  );
  await service.serve(caller);
  assert.equal(await resultOf(caller), null);
  await service.serve(ko(naan, 'late', 'function run(n) { return n + 1; }'));
  assert.equal(await resultOf(caller), 2);
});

test('a string with a JSON content type is parsed for the callee', async () => {
  const naan = uniqueNaan();
  const callee = ko(naan, 'callee', 'function run(input) { return [typeof input, input]; }');
  const caller = ko(
    naan,
    'caller',
    `function run() {
    const e = context.getExecutor("${naan}/callee/1.0/run");
    return [e.execute('{"a":1}', "application/json"), e.execute({ a: 1 }, "application/json"), e.execute({ a: 1 }), e.execute("a,b", "text/csv")]; }`,
  );
  await service.serve(callee, caller);
  assert.deepEqual(await resultOf(caller), [
    ['object', { a: 1 }],
    ['object', { a: 1 }],
    ['object', { a: 1 }],
    ['string', 'a,b'],
  ]);
});

test('an executor of a resource gives its artifacts', async () => {
  const naan = uniqueNaan();
  const files = resourceKo({ naan, name: 'res', resources: { 'a.txt': 'a', 'b.txt': 'b' } });
  const caller = ko(
    naan,
    'caller',
    `function run() { return context.getExecutor("${naan}/res/1.0/files").execute({}); }`,
  );
  await service.serve(files, caller);
  assert.deepEqual(await resultOf(caller), ['a.txt', 'b.txt']);
});

test('the error of a callee can be caught, or becomes the caller’s', async () => {
  const naan = uniqueNaan();
  const callee = ko(naan, 'callee', 'function run() { throw new RangeError("inner trouble"); }');
  const get = `context.getExecutor("${naan}/callee/1.0/run").execute({})`;
  const catching = ko(
    naan,
    'catching',
    `function run() { try { ${get}; } catch (e) { return "caught " + e.message; } }`,
  );
  const failing = ko(naan, 'failing', `function run() { return ${get}; }`);
  await service.serve(callee, catching, failing);
  assert.match(String(await resultOf(catching)), /^caught .*inner trouble/);
  const answer = await service.post(pathOf(failing), {});
  assert.equal(answer.status, 500);
  assert.match(String(answer.object['Detail']), /^Code execution error: .*inner trouble/);
});

test('depth 16 is the end of nesting', async () => {
  const naan = uniqueNaan();
  const self = ko(
    naan,
    'self',
    `function run(n) { return n === 0 ? "bottom" : context.getExecutor("${naan}/self/1.0/run").execute(n - 1); }`,
  );
  await service.serve(self);
  assert.equal(await resultOf(self, 14), 'bottom');
  const answer = await service.post(pathOf(self), 40);
  assert.equal(answer.status, 500);
  assert.match(String(answer.object['Detail']), /^Code execution error: .*\b16\b/);
  assert.equal(await resultOf(self, 3), 'bottom', 'and it is well afterwards');
});

test('a cycle of KOs ends with an error, never a deadlock', async () => {
  const naan = uniqueNaan();
  const to = (name: string): string =>
    `function run(n) { return context.getExecutor("${naan}/${name}/1.0/run").execute(n + 1); }`;
  const [a, b] = [ko(naan, 'a', to('b')), ko(naan, 'b', to('a'))];
  await service.serve(a, b);
  const answers = await Promise.all([a, b, a, b].map((called) => tryAgain(() => service.post(pathOf(called), 0))));
  for (const answer of answers) {
    assert.equal(answer.status, 500);
    assert.match(String(answer.object['Detail']), /^Code execution error: /);
  }
});
