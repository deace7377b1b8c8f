/**
 * A service that has as many files and connections open as it may: what needs none goes on, all else is 503 or refused
 * for as long as it lasts, and nothing is lost.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { upload } from '../acceptance/support/client.ts';
import { explode } from '../acceptance/support/folders.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, welcomeKo, zipOf } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { assertBackTo, footprintOf, MEGABYTE, restingFootprintOf } from '../hostile/support/footprint.ts';
import { Heap, INSPECTED } from './support/heap.ts';
import { RawClient, postHead } from './support/raw-client.ts';

const naan = uniqueNaan();
const quick = javascriptKo('function run(n) { return n + 1; }', { naan, name: 'quick' });
const files = resourceKo({ naan, name: 'files', resources: { 'a.txt': 'text', 'b.bin': Buffer.alloc(300_000, 'b') } });
const exploded = welcomeKo({ naan, name: 'exploded' });
const extra = welcomeKo({ naan, name: 'extra' });
const zip = await zipOf(extra.files);

// The last goes first: a process that is looked into waits for whoever does.
const owned = new AsyncDisposableStack();
after(() => owned.disposeAsync());
const shelf = owned.use(await temporaryFolder());
await explode(exploded, shelf.path, 'exploded');
const service = owned.use(await startService({ shelf: shelf.path, env: INSPECTED }));
await service.serve(quick, files);
await service.post(pathOf(quick), 1);
const heap = owned.use(await Heap.of(service));
const [before, used] = [await restingFootprintOf(service.pid), await heap.used()];

/** So many files and connections may be open, beside those that are. */
async function allow(more: number): Promise<void> {
  const most = (await footprintOf(service.pid)).handles + more;
  execFileSync('prlimit', ['--pid', String(service.pid), `--nofile=${most}:`]);
}

/** Requests one after the other on a connection that is there already. */
class Kept implements Disposable {
  readonly #client = new RawClient(service.url);

  async ask(text: string | Buffer): Promise<string> {
    await this.#client.connected();
    const from = this.#client.received.length;
    this.#client.write(text);
    for (const until = Date.now() + 10_000; Date.now() < until; await later(10)) {
      const answer = this.#client.received.slice(from);
      const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(answer) ?? [];
      if (length !== undefined && answer.length >= answer.indexOf('\r\n\r\n') + 4 + Number(length)) return answer;
    }
    throw new Error(`no answer: ${this.#client.received.slice(from)}`);
  }

  get(path: string): Promise<string> {
    return this.ask(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  }

  [Symbol.dispose](): void {
    this.#client[Symbol.dispose]();
  }
}

async function assertAllWorks(): Promise<void> {
  assert.equal((await service.get('/actuator/health')).object['status'], 'UP');
  assert.equal((await service.post(pathOf(quick), 1)).object['result'], 2);
  assert.equal((await service.get(`/kos/${files.id}/a.txt`)).text, 'text');
  assert.equal((await service.importZip(zip)).status, 200);
  assert.equal((await service.delete(`/kos/${extra.id}`)).status, 204);
  const endpoints = await service.endpoints(naan);
  assert.deepEqual(
    endpoints.map((each) => each['status']),
    ['ACTIVATED', 'ACTIVATED', 'ACTIVATED'],
  );
}

test('with none left, calls go on, and what needs a file is 503 with Retry-After', async () => {
  const refused = /^HTTP\/1\.1 503 [^]*\r\nretry-after: 1\r\n[^]*Too many files and connections are open/i;
  const form = upload(zip);
  const head = postHead('/kos', {
    'Content-Type': String(form.headers?.['content-type']),
    'Content-Length': form.body.length,
  });
  using kept = new Kept();
  await kept.get('/actuator/health/liveness');
  using importer = new Kept();
  await importer.get('/actuator/health/liveness');
  await allow(20);
  {
    using stack = new DisposableStack();
    const clients = await Promise.all(
      Array.from({ length: 60 }, () => stack.use(new RawClient(service.url)).connected()),
    );
    const closed = await Promise.any([Promise.all(clients.slice(30).map((each) => each.closed)), later(5000)]);
    assert.ok(closed !== undefined, 'connections beyond the most are closed');
    const call = postHead(pathOf(quick), { 'Content-Type': 'application/json', 'Content-Length': 1 });
    for (let n = 0; n < 10; n++) assert.match(await kept.ask(`${call}4`), /"result":5,/);
    assert.match(await kept.get('/actuator/health/liveness'), /\{"status":"UP"\}/);
    assert.match(await kept.get(`/kos/${files.id}/a.txt`), refused);
    assert.match(await kept.get(`${pathOf(files, 'files')}/b.bin`), refused);
    for (const what of ['', `/${quick.id}`, `/${exploded.id}`])
      assert.match(await kept.get(`/actuator/activation/reload${what}`), refused, what);
    assert.match(await kept.get('/actuator/health'), /^HTTP\/1\.1 503 /);
    assert.match(await importer.ask(Buffer.concat([Buffer.from(head), form.body])), refused);
  }
  await service.get('/kos');
  await assertAllWorks();
});

test('sandboxes that end meanwhile are replaced when there are handles again', async () => {
  const { children } = await footprintOf(service.pid);
  assert.ok(children.length >= 2);
  const setMost = (most: number): unknown =>
    execFileSync('prlimit', ['--pid', String(service.pid), `--nofile=${most}:`]);
  setMost(1);
  for (const pid of children) process.kill(pid, 'SIGKILL');
  await service.logged(
    ({ msg, reason }) => msg === 'a sandbox process cannot be started' && /EMFILE/.test(String(reason)),
  );
  setMost(1000);
  for (const until = Date.now() + 10_000; ; await later(50)) {
    const answer = await service.post(pathOf(quick), 1);
    if (answer.status === 200) break;
    assert.equal(answer.status, 503, answer.text);
    assert.ok(Date.now() < until, answer.text);
  }
  await assertAllWorks();
});

test('in a rush beyond what may be open every answer is right or 503, and afterwards all is as before', async () => {
  await allow(12);
  const kinds = [
    () => service.get(`/kos/${files.id}/b.bin`),
    () => service.get(`/kos/${files.id}?format=zip`),
    () => service.importZip(zip),
    () => service.post(pathOf(quick), 1),
    () => service.get('/kos'),
    () => service.get(`/actuator/activation/reload/${files.id}`),
  ];
  const statuses: Record<string, number> = {};
  const until = Date.now() + 3000;
  await Promise.all(
    Array.from({ length: 48 }, async (_, i) => {
      while (Date.now() < until) {
        const answer = await kinds[i % kinds.length]?.().catch((thrown: unknown) => thrown as NodeJS.ErrnoException);
        const status = answer instanceof Error ? String(answer.code) : `${i % kinds.length} ${answer?.status}`;
        statuses[status] = (statuses[status] ?? 0) + 1;
        await later(2);
      }
    }),
  );
  const expected = /^(ECONNRESET|EPIPE|ECONNREFUSED|\d (200|303|503))$/;
  assert.deepEqual(
    Object.keys(statuses).filter((each) => !expected.test(each)),
    [],
    JSON.stringify(statuses),
  );
  assert.ok((statuses['ECONNRESET'] ?? 0) > 0, 'there was no rush');
  await allow(1000);
  await assertAllWorks();
  const grown = (await heap.used()) - used;
  assert.ok(grown < 10 * MEGABYTE, `${grown} bytes more are in use`);
  await assertBackTo(before, service.pid, { memory: 200 * MEGABYTE });
});
