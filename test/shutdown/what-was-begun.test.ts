/** What a client had begun when the stop came is answered, and clients who begin nothing hold nothing up. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { parseKoId } from '../../src/knowledge-object/id.ts';
import { openShelf } from '../../src/shelf/stores.ts';
import { jsonBody, upload } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, welcomeKo, zipOf, type Ko } from '../acceptance/support/ko.ts';
import { startService, type OwnService } from '../acceptance/support/service.ts';
import { Pace } from '../hostile/support/pace.ts';
import { RawClient, postHead } from '../load/support/raw-client.ts';
import { promised } from '../support/promised.ts';
import { inRound } from '../support/round.ts';

/** Milliseconds; far more than anything here takes. */
const GRACE = 240_000;
const LARGE = 8_000_000;
/** Within that time signals count as one. */
const SAME_SIGNAL_MS = 150;
const naan = uniqueNaan();
const quick = javascriptKo('function run(n) { return n + 1; }', { naan, name: 'quick' });
const steady = javascriptKo(
  'function run(n) { console.log("it runs"); const end = Date.now() + 20; while (Date.now() < end); return n; }',
  { naan, name: 'steady' },
);
const files = resourceKo({ naan, name: 'files', resources: { 'large.bin': Buffer.alloc(LARGE, 'x') } });
const uploaded = welcomeKo({ naan, name: 'uploaded' });

async function start(...kos: Ko[]): Promise<OwnService> {
  const service = await startService({ args: ['--shutdown-grace', `${GRACE}ms`] });
  await service.serve(...kos);
  return service;
}

/** Asks the service to stop; `ended` resolves with the milliseconds that it took. */
async function stop(service: OwnService): Promise<{ ended: Promise<number> }> {
  const began = Date.now();
  const ended = service.stop().then((exit) => {
    assert.deepEqual(exit, { code: 0, signal: null });
    return Date.now() - began;
  });
  await service.logged((line) => line['event'] === 'stopping');
  return { ended };
}

/** A request of which the service has got a part; the rest comes when the test says so. */
class Halved implements Disposable {
  readonly client: RawClient;
  readonly #rest: Buffer;

  private constructor(client: RawClient, rest: Buffer) {
    this.client = client;
    this.#rest = rest;
  }

  static async begin(service: OwnService, text: string | Buffer, cut: number): Promise<Halved> {
    const bytes = Buffer.from(text);
    const client = await new RawClient(service.url).connected();
    client.write(bytes.subarray(0, cut));
    await client.flushed();
    return new Halved(client, bytes.subarray(cut));
  }

  /** Sends the rest; resolves with all that came back until the service closed the connection. */
  async complete(): Promise<string> {
    this.client.write(this.#rest);
    await this.client.closed;
    return this.client.received;
  }

  [Symbol.dispose](): void {
    this.client[Symbol.dispose]();
  }
}

test('requests of which a part had arrived are answered when the rest comes', async () => {
  await using service = await start(quick, files);
  using stack = new DisposableStack();
  const halve = async (text: string | Buffer, cut: number): Promise<Halved> =>
    stack.use(await Halved.begin(service, text, cut));
  const call = postHead(pathOf(quick), { 'Content-Type': 'application/json', 'Content-Length': 2 });
  const form = upload(await zipOf(uploaded.files));
  const type = String(form.headers?.['content-type']);
  const head = postHead('/kos', { 'Content-Type': type, 'Content-Length': form.body.length });
  const probe = await halve('GET /actuator/health/readiness HTTP/1.1\r\nHost: test\r\n\r\n', 50);
  const inHead = await halve(`${call}10`, 60);
  const inBody = await halve(`${call}20`, call.length + 1);
  const inUpload = await halve(Buffer.concat([Buffer.from(head), form.body]), head.length + 500);
  const reader = stack.use(await new RawClient(service.url).connected());
  reader.socket.pause();
  reader.write(`GET /kos/${files.id}/large.bin HTTP/1.1\r\nHost: test\r\n\r\n`);
  await later(300);

  const { ended } = await stop(service);
  await later(300);
  assert.match(await probe.complete(), /^HTTP\/1\.1 503 [^]*\r\n\r\n\{"status":"DOWN"\}$/);
  assert.match(await inHead.complete(), /^HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n[^]*"result":11,/i);
  assert.match(await inBody.complete(), /^HTTP\/1\.1 200 [^]*"result":21,/);
  assert.match(await inUpload.complete(), /^HTTP\/1\.1 200 [^]*"Added"/);
  reader.socket.resume();
  await reader.closed;
  assert.ok(reader.received.length > LARGE, `${reader.received.length} bytes`);
  const took = await ended;
  assert.ok(took < promised(GRACE / 8), `${took} ms`);

  await using shelf = await openShelf(service.shelf);
  const stored = await shelf.open(parseKoId(uploaded.id) ?? assert.fail());
  assert.equal(String(await stored?.read('src/index.js')), uploaded.files['src/index.js']);
  stored?.release();
});

test('connections on which nothing is asked do not hold it up, and one on which one request follows the other ends with an answer', async () => {
  await using service = await start(steady);
  using pace = new Pace();
  using stack = new DisposableStack();
  for (let i = 0; i < 10; i++) stack.use(await new RawClient(service.url).connected());
  const used = stack.use(await new RawClient(service.url).connected());
  used.write('GET /kos HTTP/1.1\r\nHost: test\r\n\r\n');
  await once(used.socket, 'data');
  const follow = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const clients = follow.map(({ resolve }) =>
    callWithoutPause(service, stack, (calls) => {
      if (calls > 2) resolve();
    }),
  );
  await Promise.race([Promise.all(follow.map(({ promise }) => promise)), Promise.all(clients)]);
  const began = Date.now();
  const took = await (await stop(service)).ended;
  assert.ok(took < pace.allowed(1500, began, took), `${took} ms`);

  const ends = await Promise.all(clients);
  // On a busy machine all of them may be between two requests.
  assert.ok(ends.some(({ closed }) => closed) || inRound(true, false));
  for (const { calls } of ends) assert.ok(calls > 2, `${calls} calls`);
});

/** Calls on one connection until the service closes it. */
async function callWithoutPause(
  service: OwnService,
  stack: DisposableStack,
  onCall: (calls: number) => void,
): Promise<{ calls: number; closed: boolean }> {
  const agent = stack.adopt(new Agent({ keepAlive: true, maxSockets: 1 }), (each) => each.destroy());
  const { hostname, port } = new URL(service.url);
  const { headers = {}, body } = jsonBody(1);
  for (let calls = 0; ; calls++) {
    const asked = request({ hostname, port, agent, method: 'POST', path: pathOf(steady), headers }).end(body);
    const came = (await once(asked, 'response').catch((thrown: unknown) => [thrown])) as [IncomingMessage | Error];
    const [answer] = came;
    if (answer instanceof Error) {
      // Between two requests, a connection may be closed without a word.
      assert.ok(asked.reusedSocket, answer.message);
      return { calls, closed: false };
    }
    assert.equal(answer.statusCode, 200);
    await once(answer.resume(), 'end');
    if (answer.headers.connection === 'close') return { calls, closed: true };
    onCall(calls + 1);
  }
}

test('for --drain, new requests are answered while readiness is DOWN, and each connection ends with its answer', async () => {
  await using service = await startService({ args: ['--drain', '1h'] });
  await service.serve(quick);
  const ended = service.stop();
  await service.logged((line) => line['event'] === 'stopping');
  assert.equal((await service.get('/actuator/health/readiness')).status, 503);
  assert.equal((await service.get('/actuator/health')).status, 503);
  const answer = await service.post(pathOf(quick), 1);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.object['result'], 2);
  assert.equal(answer.headers['connection'], 'close');
  // A second signal ends it at once.
  await later(SAME_SIGNAL_MS);
  process.kill(service.pid, 'SIGTERM');
  assert.deepEqual(await ended, { code: 1, signal: null });
});

test('what --drain says is the least time until it ends', async () => {
  await using service = await startService({ args: ['--drain', '300ms'] });
  assert.ok((await (await stop(service)).ended) >= 300);
});
