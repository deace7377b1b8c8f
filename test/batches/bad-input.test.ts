/** Records and bytes that are wrong: each a clear error for that record, with bounded memory. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { footprintOf, MEGABYTE } from '../hostile/support/footprint.ts';
import { until } from '../runtimes/support/until.ts';
import { inRound } from '../support/round.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo } from '../acceptance/support/ko.ts';
import { openBatch, read, readAnswer, sendBatch } from './support/batch-client.ts';
import { CODE, naan, numbers, path, theBatchService } from './support/well.ts';

const service = await theBatchService();
const { url } = service;

test('a record that is too large is the only one that fails, and takes no memory', async () => {
  const large = `"${'x'.repeat(11 * MEGABYTE)}"`;
  const answer = await sendBatch(url, path, `1\n${large}\n2\n${large}\n\n3\n${large}`);
  assert.deepEqual(
    answer.lines.map(({ result, error, line }) => (error ? [error.Status, line] : result)),
    [1, ['413 Payload Too Large', 2], 2, ['413 Payload Too Large', 4], 3, ['413 Payload Too Large', 7]],
  );
  assert.match(String(answer.lines[1]?.error?.Detail), /larger than the limit of 10485760 bytes \(--max-body\)/);
});

test('a line that does not end has its error while it goes on', async () => {
  const before = await footprintOf(service.pid);
  const outgoing = openBatch(url, path);
  const answer = read(outgoing);
  const part = Buffer.alloc(MEGABYTE, 'x');
  for (let i = 0; i < inRound(64, 100); i++) if (!outgoing.write(part)) await once(outgoing, 'drain');
  const grown = (await footprintOf(service.pid)).memory - before.memory;
  outgoing.end('\n1\n');
  assert.ok(grown < inRound(60, 80) * MEGABYTE, `${Math.round(grown / MEGABYTE)} MB more`);
  assert.deepEqual(
    (await answer).lines.map(({ result, line }) => line ?? result),
    [1, 1],
  );
});

test('bytes that are no text, lone CRs, marks and NULs are errors of their own lines', async () => {
  const body = Buffer.concat([
    Buffer.from('1\n'),
    Buffer.from([0x22, 0xff, 0x22, 0x0a]),
    Buffer.from('2\r3\n\u{feff}4\n"\0"\n\r\n5\r\n'),
  ]);
  const { lines } = await sendBatch(url, path, body);
  assert.deepEqual(
    lines.map(({ result, error, line }) => (error ? [error.Status.slice(0, 3), line] : result)),
    [1, ['400', 2], ['400', 3], ['400', 4], ['400', 5], 5],
  );
  assert.match(String(lines[1]?.error?.Detail), /not valid UTF-8/);
});

test('blank lines by gzip end with a clear error, and take bounded memory', async () => {
  const before = await footprintOf(service.pid);
  const bomb = Buffer.concat([gzipSync('1\n'), gzipSync(Buffer.alloc(inRound(66, 80) * MEGABYTE, '\n'))]);
  assert.ok(bomb.length < MEGABYTE);
  const answer = await sendBatch(url, path, bomb, { 'content-encoding': 'gzip' });
  const grown = (await footprintOf(service.pid)).memory - before.memory;
  assert.ok(grown < 100 * MEGABYTE, `${Math.round(grown / MEGABYTE)} MB more`);
  assert.equal(answer.isWhole, false);
  assert.equal(answer.lines[0]?.result, 1);
  assert.match(String(answer.lines[1]?.error?.Detail), /^No record ends within 67108864 bytes/);
  const line = `"${'x'.repeat(inRound(11, 30) * MEGABYTE)}"`;
  const one = await sendBatch(url, path, gzipSync(line), { 'content-encoding': 'gzip' });
  assert.match(String(one.lines[0]?.error?.Status), /^413/);
});

test('records that never end cost only themselves', async () => {
  const hasty = javascriptKo(CODE, { naan, name: 'hasty', deployment: { timeout: 2000 } });
  await service.serve(hasty);
  const count = inRound(200, 400);
  const records = Array.from({ length: count }, (_, n) => (n % 200 === 100 ? '"loop"' : `{"n":${n}}`));
  const answer = await sendBatch(url, pathOf(hasty), records.join('\n'));
  const expected = Array.from({ length: count }, (_, n) => (n % 200 === 100 ? n + 1 : n));
  // Beside others on a busy machine the limit is one that others meet too; none of them is lost.
  const isLate = ({ error }: (typeof answer.lines)[number]): boolean =>
    inRound(/no result within the limit|no sandbox was free/.test(String(error?.Detail)), false);
  assert.deepEqual(
    answer.lines.map((each, n) => (isLate(each) ? expected[n] : (each.line ?? each.result))),
    expected,
  );
  assert.ok(answer.lines.filter(isLate).length < 100, 'most have their results');
  assert.match(String(answer.lines[100]?.error?.Detail), /no result within the limit of 2 s/);
});

/** Without runtimes the sandboxes are all that is supervised. @returns how many there were. */
async function killSandboxes(): Promise<number> {
  let killed = 0;
  for (const pid of (await footprintOf(service.pid)).children) {
    const name = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (!name.includes('/supervisor/start.js')) continue;
    process.kill(pid, 'SIGKILL');
    killed++;
  }
  return killed;
}

test('sandboxes that are killed in the middle lose no record and run none twice to the client', async () => {
  const outgoing = openBatch(url, path);
  let text = '';
  const lines = (): number => text.split('\n').length;
  const answer = (once(outgoing, 'response') as Promise<[IncomingMessage]>).then(([incoming]) => {
    incoming.on('data', (part: Buffer) => (text += part.toString()));
    return readAnswer(incoming);
  });
  const count = inRound(1000, 3000);
  const half = Array.from({ length: count }, (_, n) => `{"n":${n},"work":1}\n`).join('');
  outgoing.write(half);
  for (let round = 0; round < inRound(2, 4); round++) {
    const answered = lines();
    await until('the batch has gone on', () => (lines() > answered ? true : undefined));
    // One that has just been ended may not have been replaced yet.
    await until('a sandbox is there', async () => ((await killSandboxes()) > 0 ? true : undefined));
  }
  outgoing.end(numbers(10));
  const { lines: all, isWhole } = await answer;
  assert.ok(isWhole);
  assert.equal(all.length, count + 10);
  const expected = [...Array(count).keys(), ...Array(10).keys()];
  // One that was killed three times under its process says so.
  all.forEach(({ result, error }, at) => {
    if (error === undefined) assert.equal(result, expected[at]);
    else assert.match(error.Status, /^503/);
  });
  assert.ok(all.filter(({ error }) => error !== undefined).length < 10);
});
