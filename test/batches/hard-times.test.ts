/** Batches where something gives out: the disk, the reader, the service itself; and very many of them at once. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { readdir, readlink, stat } from 'node:fs/promises';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo } from '../acceptance/support/ko.ts';
import { footprintOf, MEGABYTE } from '../hostile/support/footprint.ts';
import { postHead, RawClient } from '../load/support/raw-client.ts';
import { until } from '../runtimes/support/until.ts';
import { inRound } from '../support/round.ts';
import { startService } from '../acceptance/support/service.ts';
import { linesOf, NDJSON, openBatch, readAnswer, sendBatch } from './support/batch-client.ts';
import { untilStalled } from './support/stalled.ts';
import { naan, numbers, path, results, theBatchService, theHastyService, well } from './support/well.ts';

const service = await theBatchService();
const { url } = service;
const hasty = await theHastyService();
/** Of two sandboxes, with a disk that is soon full, and killed at the end. */
const own = await startService({
  as: ['sh', '-c', 'ulimit -S -f 8192; exec "$0" "$@"'],
  args: ['--sandboxes', '2', '--execution-timeout', '60s'],
});
after(() => own[Symbol.asyncDispose]());
await own.serve(well);
const BATCHES = inRound(40, 300);
/** Milliseconds between single calls beside them. */
const PAUSE = inRound(250, 0);

/** Bytes of the file of answers that has no name; undefined where there is none. */
async function spooled(pid: number): Promise<number | undefined> {
  for (const fd of await readdir(`/proc/${pid}/fd`)) {
    const link = `/proc/${pid}/fd/${fd}`;
    const target = await readlink(link).catch(() => '');
    if (/answers-.* \(deleted\)$/.test(target)) return (await stat(link)).size;
  }
  return undefined;
}

test('where the disk is full, reading pauses and nothing is lost', async () => {
  // As a full disk does, it fails a write in the middle of an answer.
  const limit = 4 * MEGABYTE;
  const outgoing = openBatch(own.url, path);
  const response = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  const records = 1000;
  const record = (n: number): string => `"${n}${'y'.repeat(30_000)}"\n`;
  outgoing.end(Array.from({ length: records }, (_, n) => record(n)).join(''));
  const [incoming] = await response;
  await until('answers are on disk', () => spooled(own.pid));
  await untilStalled(async () => `${outgoing.writableLength} ${await spooled(own.pid)}`);
  const size = (await spooled(own.pid)) ?? 0;
  assert.ok(size > limit / 4 && size <= limit, `${size} bytes on a disk of ${limit}`);
  assert.ok(!outgoing.writableFinished, 'the service has stopped to read');
  assert.equal((await own.post(path, 5)).object['result'], 5);
  // There is room again while what was written in part still lies behind whole answers.
  await promisify(execFile)('prlimit', ['--pid', String(own.pid), '--fsize=unlimited']);
  const answer = await readAnswer(incoming);
  assert.ok(answer.isWhole);
  assert.deepEqual(
    answer.lines.map(({ result }) => Number.parseInt(String(result), 10)),
    [...Array(records).keys()],
  );
});

test('a reader of single bytes is told that its batch made no progress, and costs others nothing', async () => {
  const before = await footprintOf(hasty.pid);
  using client = new RawClient(hasty.url);
  client.socket.pause();
  const body = '{"large":100000}\n'.repeat(inRound(250, 400));
  client.write(postHead(path, { 'Content-Type': NDJSON, 'Content-Length': body.length }) + body);
  const reading = setInterval(() => void client.socket.read(1), 20);
  let grown = 0;
  let isOver = false;
  const broken = hasty.logged(({ event }) => event === 'batch-broke-off').finally(() => (isOver = true));
  while (!isOver) {
    const [{ object }, { memory }] = await Promise.all([hasty.post(path, 7), footprintOf(hasty.pid)]);
    assert.equal(object['result'], 7);
    grown = Math.max(grown, memory - before.memory);
    await wait(PAUSE);
  }
  clearInterval(reading);
  assert.match(String((await broken)['reason']), /no progress for 1 s \(--batch-idle\)/);
  assert.ok(grown < 100 * MEGABYTE, `${Math.round(grown / MEGABYTE)} MB more`);
  await until('its connection and its file are gone', async () =>
    (await footprintOf(hasty.pid)).handles <= before.handles + 2 ? true : undefined,
  );
});

test('hundreds of batches at once have their own answers each, and single calls go on', async () => {
  const before = await footprintOf(service.pid);
  const batches = Array.from({ length: BATCHES }, async (_, batch) => {
    const body = Array.from({ length: 40 }, (_each, n) => (n === 20 ? 'no JSON\n' : `{"n":${batch * 1000 + n}}\n`));
    const { lines, isWhole } = await sendBatch(url, path, body.join(''));
    assert.ok(isWhole);
    assert.deepEqual(
      lines.map(({ result, line }) => line ?? result),
      body.map((_record, n): unknown => (n === 20 ? 21 : batch * 1000 + n)),
    );
  });
  let isOver = false;
  const all = Promise.all(batches).finally(() => (isOver = true));
  let calls = 0;
  for (; !isOver; calls++) {
    assert.equal((await service.post(path, 7)).object['result'], 7);
    await wait(PAUSE);
  }
  await all;
  assert.ok(calls > 0);
  const grown = (await footprintOf(service.pid)).memory - before.memory;
  assert.ok(grown < 150 * MEGABYTE, `${Math.round(grown / MEGABYTE)} MB more`);
});

test('two sandboxes share the records of one batch', async () => {
  // Each process has its own.
  const code = `
    const own = Math.random();
    function run() { const end = Date.now() + 1; while (Date.now() < end); return own; }`;
  const which = javascriptKo(code, { naan, name: 'which' });
  await own.serve(which);
  const outgoing = openBatch(own.url, pathOf(which));
  const seen = new Set<string>();
  let [sent, answered] = [0, 0];
  // It goes on until both have answered, however late the second gets a core.
  const sendMore = (): void => {
    for (; seen.size < 2 && sent < answered + 300; sent++) outgoing.write('1\n');
    if (seen.size === 2) outgoing.end();
  };
  sendMore();
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  incoming.on('data', (part: Buffer | string) => {
    const lines = String(part).split('\n').slice(0, -1);
    answered += lines.length;
    for (const line of lines) if (line.startsWith('{') && line.endsWith('}')) seen.add(line);
    sendMore();
  });
  const { lines, isWhole } = await readAnswer(incoming);
  assert.ok(isWhole);
  assert.equal(lines.length, sent);
  // The spare takes the place of a process that got no core for a while: then a third one has answered too.
  assert.ok(new Set(results({ lines })).size >= 2);
});

test('a service that is killed leaves an answer that is seen to be broken, of what it had answered', async () => {
  const outgoing = openBatch(own.url, path);
  const response = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  outgoing.write(numbers(1000));
  const [incoming] = await response;
  let seen = '';
  incoming.on('data', (part: Buffer) => (seen += part.toString()));
  const answer = readAnswer(incoming);
  await until('some are answered', () => (seen.includes('\n') ? true : undefined));
  await own.stop('SIGKILL');
  const { isWhole, text } = await answer;
  assert.equal(isWhole, false);
  const lines = linesOf(text);
  assert.deepEqual(results({ lines }), [...Array(lines.length).keys()]);
});
