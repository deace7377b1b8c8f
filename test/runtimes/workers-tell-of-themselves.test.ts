/** What code in workers prints, and what it calls, is told as that of any other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { until } from './support/until.ts';
import { theWorkersService } from './support/the-services.ts';

const naan = uniqueNaan();
const { service } = await theWorkersService();

const called = javascriptKo('function run(n) { return n + 1; }', { naan, name: 'called' });
const node = runtimeKo({
  ...{ naan, name: 'node', engine: 'node' },
  code: {
    'src/index.js': `module.exports = async (n) => {
      console.log('out ' + n);
      console.error('\\u001b[31mwrong');
      return global.cxt.getExecutorByID('${naan}/called/1.0/run').execute(n);
    };`,
  },
});
const python = runtimeKo({
  ...{ naan, name: 'python', engine: 'python' },
  code: { 'src/main.py': `def run(n):\n    print("out", n)\n    return n\n` },
});
await service.add(called, node, python);
await Promise.all([called, node, python].map((ko) => service.reload(ko)));

const linesOf = async ({ id }: { readonly id: string }): Promise<string[]> => {
  const { lines } = (await service.get(`/actuator/logs/${id}`)).object as { lines: Record<string, string>[] };
  return lines.map(({ level, text }) => `${String(level)} ${String(text)}`);
};

test('an answer of a worker names what ran it, and what it called', async () => {
  for (const [ko, engine, calls] of [
    [node, /^Node v\d/, [called.id]],
    [python, /^Python 3\./, []],
  ] as const) {
    const { object } = await service.post(pathOf(ko), 1);
    const { provenance } = object['info'] as { provenance: Record<string, unknown> };
    assert.match((provenance['engine'] as { version: string }).version, engine);
    assert.deepEqual(
      (provenance['calls'] as { knowledgeObject: string }[]).map((each) => each.knowledgeObject),
      calls,
    );
  }
});

test('what a worker printed is that of its knowledge object alone', async () => {
  const ofNode = await until('both lines are there', async () => {
    const lines = await linesOf(node);
    return lines.length >= 2 ? lines : undefined;
  });
  assert.deepEqual(ofNode.sort(), ['info out 1', 'warn \u001b[31mwrong']);
  const ofPython = await until('its line is there', async () => {
    const lines = await linesOf(python);
    return lines.length >= 1 ? lines : undefined;
  });
  assert.deepEqual(ofPython, ['info out 1']);
  assert.deepEqual(await linesOf(called), []);
});
