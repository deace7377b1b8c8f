/** Clients that read late, slowly or never, or go away: nothing is lost, memory is bounded. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { after, test } from 'node:test';
import { footprintOf, MEGABYTE } from '../hostile/support/footprint.ts';
import { RawClient, postHead } from '../load/support/raw-client.ts';
import { until } from '../runtimes/support/until.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { inRound } from '../support/round.ts';
import { NDJSON, openBatch, read, readAnswer, sendBatch } from './support/batch-client.ts';
import { untilStalled } from './support/stalled.ts';
import { path, results, start, theBatchService, theHastyService } from './support/well.ts';

const service = await theBatchService();
const { url } = service;
const hasty = await theHastyService();
/** With little time for single calls, and little room for answers. */
const own = await start([
  ...['--batch-idle', '60s', '--upload-timeout', '3s', '--request-timeout', '3s'],
  ...['--max-batch-spool', '1MB'],
]);
after(() => own[Symbol.asyncDispose]());

test('a client that sends everything before it reads gets everything', async () => {
  const before = await footprintOf(service.pid);
  const outgoing = openBatch(url, path);
  const response = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  const records = inRound(800, 3000);
  const body = Array.from({ length: records }, (_, n) => `"${String(n).padStart(5)}${'y'.repeat(10_000)}"\n`).join('');
  outgoing.end(body);
  const [incoming] = await response;
  // Nothing is read yet: the answers are on disk when the request has been sent.
  await once(outgoing, 'finish');
  const grown = (await footprintOf(service.pid)).memory - before.memory;
  assert.ok(grown < 120 * MEGABYTE, `${Math.round(grown / MEGABYTE)} MB more`);
  const { lines, isWhole } = await readAnswer(incoming);
  assert.ok(isWhole);
  assert.deepEqual(
    lines.map(({ result }) => Number(String(result).slice(0, 5))),
    [...Array(records).keys()],
  );
});

test('where the disk has no room for answers, reading pauses and nothing is lost', async () => {
  await using tight = await inRound<() => Promise<OwnService> | undefined>(
    () => undefined,
    () => start(['--max-batch-spool', '1B']),
  )();
  for (const each of tight === undefined ? [own] : [tight, own]) {
    const outgoing = openBatch(each.url, path);
    const response = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    const records = inRound(400, 1000);
    const body = Buffer.from(`"${'y'.repeat(100_000)}"\n`);
    let sent = 0;
    const send = (): void => {
      for (; sent < records; sent++) if (!outgoing.write(body)) return void sent++;
      outgoing.end('"last"\n');
    };
    outgoing.on('drain', send);
    send();
    const [incoming] = await response;
    const taken = await untilStalled(() => sent);
    assert.ok(taken < records, `${taken} records of 100 kB were taken while nobody read`);
    const { lines, isWhole } = await readAnswer(incoming);
    assert.ok(isWhole);
    assert.equal(lines.length, records + 1);
    assert.equal(lines.at(-1)?.result, 'last');
  }
});

test('a batch on which nothing moves is broken off, one whose record works is not', async () => {
  const slow = await sendBatch(hasty.url, path, '{"work":700,"n":1}\n{"work":700,"n":2}\n{"work":700,"n":3}\n');
  assert.deepEqual([results(slow), slow.isWhole], [[1, 2, 3], true]);
  const outgoing = openBatch(hasty.url, path);
  const answer = read(outgoing);
  outgoing.write('1\n2\n3');
  const { lines, isWhole } = await answer;
  assert.deepEqual([lines.map(({ result }) => result), isWhole], [[1, 2], false]);
  const line = await hasty.logged(({ event, records }) => event === 'batch-broke-off' && records === 2);
  assert.match(String(line['reason']), /no progress for 1 s \(--batch-idle\)/);
  // One that reads nothing of much is broken off as a reader of single bytes is.
  if (inRound(true, false)) return;
  const deaf = new RawClient(hasty.url);
  deaf.socket.pause();
  const body = '{"large":1000000}\n'.repeat(30);
  deaf.write(postHead(path, { 'Content-Type': NDJSON, 'Content-Length': body.length }) + body);
  const brokenOff = (): number => hasty.log.filter(({ event }) => event === 'batch-broke-off').length;
  const before = brokenOff();
  await hasty.logged(() => brokenOff() > before);
  deaf[Symbol.dispose]();
});

test('a slow sender is served as long as it goes on', async () => {
  using client = await new RawClient(own.url).connected();
  using single = await new RawClient(own.url).connected();
  client.write(postHead(path, { 'Content-Type': NDJSON, 'Transfer-Encoding': 'chunked' }));
  const unfinished = postHead(path, { 'Content-Type': 'application/json', 'Content-Length': 10 }) + '1';
  single.write(unfinished);
  // Longer than a single call may take to arrive, byte by byte.
  let sent = 0;
  await until('the single call is given up', () => {
    client.write(`1\r\n${sent++ % 8 === 7 ? '\n' : '1'}\r\n`);
    return single.ended;
  });
  assert.match(single.received, /408 Request Timeout/);
  client.write('7\r\n1\n4444\n\r\n0\r\n\r\n');
  await until('the answer is whole', () =>
    // After its head comes a piece of no length, and the trailers.
    client.received.endsWith('\r\n\r\n') && client.received.includes('\r\n0\r\n') ? true : undefined,
  );
  assert.equal(client.received.match(/"result":\d+/g)?.length, Math.floor(sent / 8) + 2);
  assert.match(client.received, /"result":4444/);
  // The next request on that connection has the usual times.
  client.write(unfinished);
  await client.closed;
  assert.match(client.received, /408 Request Timeout/);
});

test('a client that goes away ends the work at once', async () => {
  const outgoing = openBatch(url, path);
  const response = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  const before = await footprintOf(service.pid);
  outgoing.write('{"work":20,"n":1}\n'.repeat(2000));
  const [incoming] = await response;
  await once(incoming, 'data');
  outgoing.destroy();
  await service.logged(({ msg }) => msg === 'a batch ended, since its client went away');
  const cpu = async (): Promise<number> => (await footprintOf(service.pid)).cpu - before.cpu;
  const used = await untilStalled(async () => Math.floor(10 * (await cpu())) / 10);
  assert.ok(used < 10, `${used} of 40 seconds of processor time`);
});
