/** Own runtimes take and give what the service does: `--max-body` and `--max-result`, whatever these are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { inRound } from '../support/round.ts';
import { runtimeKo } from './support/runtime-ko.ts';

const naan = uniqueNaan();
const megabyte = 2 ** 20;
/** Characters of two bytes; the runtimes' own default is 11 MB. */
const LONG = inRound(6, 20) * megabyte;
const LONG_RESULT = inRound(12, 40) * megabyte;
const remote = ['--runtimes', 'node,python', '--runtime-timeout', '2m', '--request-timeout', '2m', '--max-held', '4GB'];

const node = runtimeKo({
  naan,
  name: 'node',
  engine: 'node',
  code: {
    'src/index.js': `exports.run = async ({ text, repeat, call }) => {
      if (call) return (await global.cxt.getExecutorByID("${naan}/python/1.0/run").execute({ text })) + 1;
      return repeat ? 'x'.repeat(repeat) : text.length;
    };`,
  },
});
const python = runtimeKo({
  naan,
  name: 'python',
  engine: 'python',
  code: {
    'src/main.py': `
from kgrid_python_runtime.context import Context
def run(value):
    if value.get('call'):
        return Context().get_executor_by_id("${naan}/node/1.0/run")({'text': value['text']}) + 1
    return 'x' * value['repeat'] if value.get('repeat') else len(value['text'])
`,
  },
});

test('with limits of 500 MB both start, and take inputs and give results far beyond their own defaults', async () => {
  await using service = await startService({ args: [...remote, '--max-body', '500MB', '--max-result', '500MB'] });
  await service.serve(node, python);
  const minimal = { accept: 'application/json;profile="minimal"' };
  for (const ko of [node, python]) {
    const text = 'é'.repeat(LONG);
    const taken = await service.post(pathOf(ko), { text }, minimal);
    assert.deepEqual([taken.status, taken.json], [200, text.length], taken.text.slice(0, 300));
    const repeat = LONG_RESULT;
    const given = await service.post(pathOf(ko), { repeat }, minimal);
    assert.deepEqual([given.status, given.bytes.length], [200, repeat + 2], given.text.slice(0, 300));
    const nested = await service.post(pathOf(ko), { text, call: true }, minimal);
    assert.deepEqual([nested.status, nested.json], [200, text.length + 1], nested.text.slice(0, 300));
  }
});

test('a result is refused beyond the limit alone, also where it is small', async () => {
  await using service = await startService({ args: [...remote, '--max-body', '1000', '--max-result', '5000'] });
  await service.serve(node, python);
  for (const ko of [node, python]) {
    for (const [repeat, status] of [
      [4998, 200],
      [4999, 500],
    ] as const) {
      for (const many of inRound([5], [1, 20])) {
        const calls = Array.from({ length: many }, () => service.post(pathOf(ko), { repeat }));
        for (const { status: got, text } of await Promise.all(calls)) assert.equal(got, status, text.slice(0, 300));
      }
    }
  }
});
