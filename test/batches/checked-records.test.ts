/** Records that are held to the schema of their endpoint, in each engine that runs several at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { inRound } from '../support/round.ts';
import { sendBatch } from './support/batch-client.ts';
import { theWorkerService, withInput } from './support/workers.ts';

const naan = uniqueNaan();
const service = await theWorkerService();

const SCHEMA = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } };
const RUN = '({ n }) => { if (n % 10 === 3) throw new Error("no"); return n; }';

const kos = {
  javascript: withInput(SCHEMA, javascriptKo(`const run = ${RUN};`, { naan, name: 'javascript' })),
  node: withInput(
    SCHEMA,
    runtimeKo({ naan, name: 'node', engine: 'node', code: { 'src/index.js': `exports.run = ${RUN};` } }),
  ),
  python: withInput(
    SCHEMA,
    runtimeKo({
      naan,
      name: 'python',
      engine: 'python',
      code: {
        'src/main.py': `
def run(value):
    if value["n"] % 10 == 3:
        raise ValueError("no")
    return value["n"]
`,
      },
    }),
  ),
};
await service.serve(...Object.values(kos));

const COUNT = inRound(300, 1000);
/** By the last digit; each other one is fine. */
const ODD: Readonly<Record<number, readonly [record: (n: number) => string, status: string]>> = {
  1: [() => '{"n":"x"}', '400 Bad Request'],
  2: [() => '{"n"', '400 Bad Request'],
  3: [(n) => `{"n":${n}}`, '500 Internal Server Error'],
  7: [() => '{}', '400 Bad Request'],
  8: [() => '"\0"', '400 Bad Request'],
};

for (const [engine, ko] of Object.entries(kos)) {
  test(`${engine}: what a schema refuses does not run, and all others have their answers in their places`, async () => {
    const numbers = [...Array(COUNT).keys()];
    // With a blank line before each tenth.
    const lines = numbers.map((n) => `${n % 10 === 0 ? '\n' : ''}${ODD[n % 10]?.[0](n) ?? `{"n":${n}}`}\n`);
    const answer = await sendBatch(service.url, pathOf(ko), lines.join(''));
    assert.ok(answer.isWhole);
    assert.deepEqual(
      answer.lines.map(({ result, error, line }) => result ?? [error?.Status, line]),
      numbers.map((n) => {
        const status = ODD[n % 10]?.[1];
        return status === undefined ? n : [status, n + 1 + Math.floor(n / 10) + 1];
      }),
    );
    assert.equal(answer.lines[1]?.error?.Title, 'Invalid Input');
    assert.match(String(answer.lines[1]?.error?.Detail), /\/n: expected integer, came "x"/);
    assert.match(String(answer.lines[2]?.error?.Detail), /line 4 is not JSON/);
    const failed = COUNT / 2;
    assert.deepEqual([answer.trailers['kgrid-records'], answer.trailers['kgrid-failed']], [`${COUNT}`, `${failed}`]);
  });

  test(`${engine}: a batch of which all are refused runs nothing, and ends well`, async () => {
    const answer = await sendBatch(service.url, pathOf(ko), '{}\n'.repeat(50));
    assert.ok(answer.isWhole);
    assert.deepEqual(new Set(answer.lines.map(({ error }) => error?.Title)), new Set(['Invalid Input']));
    assert.equal(answer.lines.length, 50);
  });
}
