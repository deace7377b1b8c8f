/** Records of the engines whose code runs in workers: many share a piece of work, and each stands for itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { inRound } from '../support/round.ts';
import { sendBatch } from './support/batch-client.ts';
import { theWorkerService, withInput } from './support/workers.ts';

const naan = uniqueNaan();
/** Milliseconds; those of the service are more than any call needs. */
const HASTY = { timeout: 3000 };
const inNode = (name: string, deployment = {}): Ko =>
  runtimeKo({
    ...{ naan, name, engine: 'node', deployment },
    code: {
      'src/index.js': `
const invalid = (status) => Object.assign(new Error('no age'), { name: 'InvalidInputError', status });
exports.run = (input) => {
  if (input === 'throw') throw new Error('no');
  if (input === 'invalid') throw invalid(422);
  if (input === 'odd') return { score: NaN };
  if (input === 'end') process.exit(3);
  // Without an end, and without the processor for so long.
  if (input === 'loop') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if (input.nested) return global.cxt.getExecutorByID(input.nested).execute(input.n).then((found) => [found]);
  if (input.later) return new Promise((resolve) => setTimeout(() => resolve(input.n), input.later));
  return input.n ?? input;
};`,
    },
  });
const inPython = (name: string, deployment = {}): Ko =>
  runtimeKo({
    ...{ naan, name, engine: 'python', deployment },
    code: {
      'src/main.py': `
import asyncio, os, threading
from kgrid_python_runtime import InvalidInputError
from kgrid_python_runtime.context import Context

async def later(value):
    await asyncio.sleep(value["later"] / 1000)
    return value["n"]

def run(value):
    if value == "throw":
        raise ValueError("no")
    if value == "invalid":
        raise InvalidInputError("no age")
    if value == "odd":
        return {"score": float("nan")}
    if value == "end":
        os._exit(3)
    if value == "loop":
        threading.Event().wait()
    if isinstance(value, dict):
        if "nested" in value:
            return [Context().get_executor_by_id(value["nested"])(value["n"])]
        return later(value) if "later" in value else value["n"]
    return value
`,
    },
  });
const [node, hastyNode] = [withInput({}, inNode('node')), withInput({}, inNode('hasty.node', HASTY))];
const [python, hastyPython] = [withInput({}, inPython('python')), withInput({}, inPython('hasty.python', HASTY))];
const service = await theWorkerService();
await service.serve(node, hastyNode, python, hastyPython);
const { url } = service;

/** What the lines say: results, or the beginning of a status and the number of the line. */
async function said(ko: Ko, body: string): Promise<unknown[]> {
  const { lines, isWhole } = await sendBatch(url, pathOf(ko), body);
  assert.ok(isWhole);
  return lines.map(({ result, error, line }) => (error ? [error.Status.slice(0, 3), line] : result));
}

const count = inRound(1000, 3000);
const half = count / 2;
const expected = (faults: Readonly<Record<number, unknown>>): unknown[] =>
  Array.from({ length: count }, (_, n) => faults[n] ?? n);
const body = (odd: Readonly<Record<number, string>>): string =>
  Array.from({ length: count }, (_, n) => `${odd[n] ?? `{"n":${n}}`}\n`).join('');

for (const [engine, ko, hasty] of [
  ['node', node, hastyNode],
  ['python', python, hastyPython],
] as const) {
  test(`${engine}: records that fail concern no other, wherever they stand`, async () => {
    const odd = {
      0: '"throw"',
      [half]: '"throw"',
      [half + 1]: '"invalid"',
      [half + 2]: '{"n"',
      [half + 3]: '"odd"',
      [count - 1]: '"throw"',
    };
    const faults = Object.fromEntries(
      Object.entries(odd).map(([at, record]) => [
        at,
        [record.includes('invalid') ? '422' : record.startsWith('{') ? '400' : '500', Number(at) + 1],
      ]),
    );
    assert.deepEqual(await said(ko, body(odd)), expected(faults));
    const { lines } = await sendBatch(url, pathOf(ko), '"throw"\n"ä€"\n{"n"\n');
    assert.match(String(lines[0]?.error?.Detail), /^Code execution error: .*Error: no/);
    assert.equal(lines[1]?.result, 'ä€');
    assert.match(String(lines[2]?.error?.Detail), /^The record in line 3 is not JSON: /);
  });

  test(`${engine}: a record that ends its process, or never ends, costs only itself`, async () => {
    const odd = { 300: '"end"', [half + 100]: '"loop"' };
    assert.deepEqual(await said(hasty, body(odd)), expected({ 300: ['500', 301], [half + 100]: ['500', half + 101] }));
    const { status } = await service.post(pathOf(hasty), { n: 1 });
    assert.equal(status, 200);
  });

  test(`${engine}: single calls are in no process that records end`, async () => {
    const before = (await service.get('/proxy/environments')).text;
    const slow = service.post(pathOf(ko), { n: 5, later: 500 });
    assert.deepEqual(await said(ko, '"end"\n1\n'), [['500', 1], 1]);
    const answer = await slow;
    assert.deepEqual([answer.status, answer.object['result']], [200, 5], before);
  });
}
