/** Files of a bulk export of FHIR: each resource is a record, by HTTP and by `kgrid run`. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo } from '../acceptance/support/ko.ts';
import { inRound } from '../support/round.ts';
import { kgrid, temporaryFolder } from '../cli/kgrid.ts';
import { bulkFhir, SCORE } from './support/bulk-fhir.ts';
import { sendBatch } from './support/batch-client.ts';
import { naan, theBatchService } from './support/well.ts';

const score = javascriptKo(SCORE, { naan, name: 'score' });
const service = await theBatchService();
await service.serve(score);
const COUNT = inRound(150, 600);
const made = [...bulkFhir(COUNT)];
const body = made.map(({ line }) => `${line}\n`).join('');
const failed = made.flatMap((each, i) => (each.score === undefined ? [i + 1] : []));

test('made-up resources have the sizes of real ones', () => {
  const sizes = made.map(({ line }) => Buffer.byteLength(line)).sort((a, b) => a - b);
  assert.ok((sizes[0] ?? 0) > 1000 && (sizes.at(-1) ?? 0) > 10_000 && (sizes.at(-1) ?? 0) < 20_000, sizes.join(' '));
  assert.ok(failed.length > 10);
});

test('a file of application/fhir+ndjson is scored resource by resource', async () => {
  const type = 'application/fhir+ndjson';
  const { headers, lines, trailers, isWhole } = await sendBatch(service.url, pathOf(score), body, {
    'content-type': type,
  });
  assert.deepEqual([headers['content-type'], isWhole], [type, true]);
  assert.deepEqual([trailers['kgrid-records'], trailers['kgrid-failed']], [`${COUNT}`, String(failed.length)]);
  assert.deepEqual(
    lines.map(({ result, error }) => result ?? error?.Status),
    made.map((each) => each.score ?? '422 Unprocessable Entity'),
  );
});

test('kgrid run scores such a file, and names each resource without a score', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  await writeFile(join(cwd, 'Observation.ndjson'), body);
  const run = ['run', pathOf(score).slice(1), 'Observation.ndjson', '-o', 'scores.ndjson'];
  const { code, stderr } = await kgrid(run, { cwd, env: { KGRID_URL: service.url } });
  assert.equal(code, 1, stderr);
  const read = async (name: string): Promise<Record<string, unknown>[]> =>
    (await readFile(join(cwd, name), 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    await read('scores.ndjson'),
    made.flatMap((each, i) => (each.score === undefined ? [] : [{ line: i + 1, result: each.score }])),
  );
  const failures = await read('scores.ndjson.failed.ndjson');
  assert.deepEqual(
    failures.map(({ line }) => line),
    failed,
  );
  for (const { status, reason } of failures) {
    assert.equal(status, 422);
    assert.match(String(reason), /^Observation\/[-0-9a-f]{36} has no blood pressure$/);
  }
});
