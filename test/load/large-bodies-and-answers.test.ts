/** Each body and answer has its limit; what is held of all together has one too, and only large ones feel it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { Companion, wellBehavedKo } from '../hostile/support/companion.ts';
import { Heap, INSPECTED } from './support/heap.ts';
import { assertBackTo, restingFootprintOf, MEGABYTE, Peak } from '../hostile/support/footprint.ts';

const HELD = 40 * MEGABYTE;
const LARGE = 9 * MEGABYTE;
const CLIENTS = 30;
/** What is held is there in several forms: as bytes, as text, and on its way to a sandbox or a socket. */
const MOST = { activator: 8 * HELD, child: 1200 * MEGABYTE };

// The last goes first: a process that is looked into waits for whoever does.
const owned = new AsyncDisposableStack();
after(() => owned.disposeAsync());
const service = owned.use(
  await startService({ env: INSPECTED, args: ['--max-held', String(HELD), '--execution-timeout', '2s'] }),
);
const naan = uniqueNaan();
const well = wellBehavedKo(naan);
const spinner = javascriptKo('function run() { while (true); }', { naan, name: 'spinner' });
const echo = javascriptKo('function run(text) { return text; }', { naan, name: 'echo' });
const giver = javascriptKo('function run(size) { return "x".repeat(size); }', { naan, name: 'giver' });
await service.serve(well, spinner, echo, giver);
const body = JSON.stringify('x'.repeat(LARGE));

/** Sends a call and reads nothing. */
function callWithoutReading(ko: Ko, input: string): Socket {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(
    `POST ${pathOf(ko)} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${input.length}\r\n\r\n${input}`,
  );
  return socket;
}

async function assertLargeOnesWorkAgain(): Promise<void> {
  const until = Date.now() + 10_000;
  for (;;) {
    const answer = await service.post(pathOf(echo), body);
    if (answer.status === 503 && Date.now() < until) continue;
    assert.equal(answer.status, 200, answer.text.slice(0, 300));
    assert.equal((answer.object['result'] as string).length, LARGE);
    return;
  }
}

/** Memory is collected when more is needed: a few large calls, one after the other, take and leave it as always. */
async function useMemory(): Promise<void> {
  for (let i = 0; i < 10; i++) await assertLargeOnesWorkAgain();
}

await useMemory();
const heap = owned.use(await Heap.of(service));
const used = await heap.used();
const before = await restingFootprintOf(service.pid);

test('large bodies of calls that wait are bounded together', async () => {
  using companion = new Companion(service, well);
  using peak = new Peak(before, service.pid);
  const answers = await Promise.all(Array.from({ length: CLIENTS }, () => service.post(pathOf(spinner), body)));
  const refused = answers.filter(({ text }) => text.includes('--max-held'));
  assert.ok(refused.length > 0 && refused.length < CLIENTS, `${refused.length} of ${CLIENTS} were refused`);
  for (const { status, headers } of refused) assert.deepEqual([status, headers['retry-after']], [503, '5']);
  await companion.assertUndisturbed();
  peak.assertWithin(MOST);
  await assertLargeOnesWorkAgain();
});

test('large answers that nobody reads are bounded together', async () => {
  using companion = new Companion(service, well);
  using peak = new Peak(before, service.pid);
  const size = String(LARGE);
  using sockets = new DisposableStack();
  for (let i = 0; i < CLIENTS; i++) sockets.adopt(callWithoutReading(giver, size), (socket) => socket.destroy());
  const until = Date.now() + 10_000;
  let refused = false;
  while (!refused && Date.now() < until) refused = (await service.post(pathOf(giver), size)).status === 503;
  assert.ok(refused, 'every answer found room');
  await companion.assertUndisturbed();
  peak.assertWithin(MOST);
  sockets.dispose();
  await assertLargeOnesWorkAgain();
});

test('clients that go away give back what was held for them', async () => {
  for (const [ko, input] of [
    [spinner, body],
    [echo, body],
    [giver, String(LARGE)],
  ] as const) {
    for (const pause of [0, 1, 10, 50, 100]) {
      const sockets = Array.from({ length: 4 }, () => callWithoutReading(ko, input));
      await Promise.all(sockets.map((socket) => once(socket, 'connect')));
      await later(pause);
      for (const socket of sockets) socket.destroy();
    }
  }
  await assertLargeOnesWorkAgain();
});

test('afterwards the service is where it was', async () => {
  await useMemory();
  const grown = (await heap.used()) - used;
  assert.ok(grown < 10 * MEGABYTE, `${grown} bytes more are in use`);
  // What was freed is kept for the next large ones.
  await assertBackTo(before, service.pid, { memory: MOST.activator, treeMemory: MOST.activator + 300 * MEGABYTE });
});
