/** Whoever sends a body byte by byte takes no more memory than whoever sends it at once. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { postHead, RawClient } from '../load/support/raw-client.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, zipOf } from './support/ko.ts';
import { MB, peakMemory } from './support/peak-memory.ts';
import { startService } from './support/service.ts';

/** A part of what it took when pieces were kept one by one: 350 MB and more. */
const MOST = 150 * MB;
const CHUNKED = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
const LAST = '0\r\n\r\n';

const owned = new AsyncDisposableStack();
after(() => owned.disposeAsync());
// So many pieces take a busy machine a while.
const PATIENT = ['--request-timeout', '10m', '--upload-timeout', '10m', '--execution-timeout', '5m'];
const service = owned.use(await startService({ args: PATIENT }));
const naan = uniqueNaan();
const length = javascriptKo('function run(text) { return text.length; }', { naan, name: 'length' });
const large = resourceKo({ naan, name: 'large', resources: { 'large.bin': randomBytes(20 * MB) } });
await service.serve(length, large);

/** Each byte a chunk of its own. */
const inBytes = (body: Buffer | string): Buffer =>
  Buffer.from(Buffer.from(body).toString('latin1').replace(/[^]/g, '1\r\n$&\r\n'), 'latin1');

async function clients(count: number): Promise<RawClient[]> {
  return Promise.all(Array.from({ length: count }, () => owned.use(new RawClient(service.url)).connected()));
}

/** All of them send all but the end; then each ends and gets its answer. */
async function sendInBytes(count: number, head: string, body: Buffer | string): Promise<string[]> {
  const senders = await clients(count);
  const chunks = inBytes(body);
  for (const sender of senders) {
    sender.write(head);
    sender.write(chunks);
  }
  await Promise.all(senders.map((sender) => sender.flushed()));
  return Promise.all(
    senders.map(async (sender) => {
      const answered = once(sender.socket, 'data');
      sender.write(LAST);
      await Promise.race([answered, sender.closed]);
      return sender.received;
    }),
  );
}

/** Each test begins with the peaks of those before it. */
const before = await peakMemory(service.pid);
async function assertLittleMemory(): Promise<void> {
  const grown = (await peakMemory(service.pid)) - before;
  assert.ok(grown < MOST, `the service took ${Math.round(grown / MB)} MB more`);
}

test('bodies that nobody wants on 25 connections that read no answer, byte by byte', async () => {
  const head = postHead(`/kos/${large.id}/large.bin`, { 'Transfer-Encoding': 'chunked' }).replace('POST', 'GET');
  const chunks = inBytes('x'.repeat(20_000));
  const senders = await clients(25);
  for (const sender of senders) {
    sender.socket.pause();
    sender.write(head);
    sender.write(chunks);
  }
  await Promise.all(senders.map((sender) => sender.flushed()));
  // Nobody tells when they have been read; in as many turns as there are connections each had its own.
  for (let i = 0; i < 25; i++) assert.equal((await service.post(pathOf(length), 'not JSON')).status, 400);
  for (const { socket } of senders) socket.destroy();
  await assertLittleMemory();
});

test('uploads on 25 connections, byte by byte', async () => {
  const zip = await zipOf({ 'noise.bin': randomBytes(30_000) }, '', { compress: false });
  const form = Buffer.concat([
    Buffer.from('--x\r\nContent-Disposition: form-data; name="ko"; filename="a.zip"\r\n\r\n'),
    zip,
    Buffer.from('\r\n--x--\r\n'),
  ]);
  const head = postHead('/kos', { 'Content-Type': 'multipart/form-data; boundary=x', 'Transfer-Encoding': 'chunked' });
  for (const answer of await sendInBytes(25, head, form)) {
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, /metadata\.json/);
  }
  await assertLittleMemory();
});

async function assertAnswered(count: number, size: number): Promise<void> {
  const answers = await sendInBytes(count, postHead(pathOf(length), CHUNKED), JSON.stringify('x'.repeat(size)));
  for (const answer of answers) {
    assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.match(answer, new RegExp(`"result":${size},`));
  }
  await assertLittleMemory();
}

test('calls on 25 connections, byte by byte', () => assertAnswered(25, 20_000));

test('calls with large bodies on 2 connections, byte by byte', () => assertAnswered(2, 350_000));
