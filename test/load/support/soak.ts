/** All that clients do, good and bad, for a while; and what the service keeps of it, which must be nothing. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setTimeout as later } from 'node:timers/promises';
import { upload } from '../../acceptance/support/client.ts';
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, zipOf } from '../../acceptance/support/ko.ts';
import type { Ko } from '../../acceptance/support/ko.ts';
import { startService } from '../../acceptance/support/service.ts';
import type { OwnService } from '../../acceptance/support/service.ts';
import { wellBehavedKo } from '../../hostile/support/companion.ts';
import { MEGABYTE, restingFootprintOf } from '../../hostile/support/footprint.ts';
import { batchVisits, wellInput, wellResult } from './batch-visits.ts';
import { Heap, INSPECTED } from './heap.ts';
import { Random } from '../../support/random.ts';
import { inRound } from '../../support/round.ts';
import { RawClient, postHead } from './raw-client.ts';

/** What the service takes while it rests. */
export interface Rest {
  readonly heap: number;
  readonly memory: number;
  readonly treeMemory: number;
  readonly handles: number;
  readonly children: number;
}

/** Milliseconds; short, so that hostile visits end soon. On a busy machine others feel it too. */
const LIMIT = inRound(300, 500);
const HOSTILE: Readonly<Record<string, string>> = {
  loop: 'while (true);',
  native: '[].indexOf.call({ length: 2 ** 53 - 1 }, 1);',
  thrower: 'throw { get message() { while (true); } };',
  memory: 'const a = []; for (;;) a.push({ text: "x" + a.length });',
  large: 'return "x".repeat(3e7);',
  never: 'return new Promise(() => {});',
  chatty: 'for (let i = 0; i < 1000; i++) console.log("line " + i); return 1;',
  deep: 'let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o;',
  polluter: 'Object.prototype.polluted = 1; JSON.stringify = null; return 1;',
};

type Visit = () => Promise<unknown>;

export class Soak implements AsyncDisposable {
  readonly #service: OwnService;
  readonly #heap: Heap;
  readonly #random: Random;
  readonly #visits: readonly Visit[];
  readonly #clients: number;
  visits = 0;

  private constructor(service: OwnService, heap: Heap, kos: Kos, seed: number, clients: number) {
    this.#service = service;
    this.#heap = heap;
    this.#random = new Random(seed);
    this.#visits = visitsOf(service, kos);
    this.#clients = clients;
  }

  static async begin(seed: number, clients = 8): Promise<Soak> {
    // Times of arrival are as by default: Node's own look at them counts the time in which a busy machine gives it no core.
    const service = await startService({
      env: INSPECTED,
      args: ['--execution-timeout', `${LIMIT}ms`, '--isolate-memory', '32MB'],
    });
    const naan = uniqueNaan();
    const kos: Kos = {
      well: wellBehavedKo(naan),
      files: resourceKo({ naan, name: 'files', resources: { 'a.txt': 'a', 'large.bin': randomBytes(2_000_000) } }),
      nested: javascriptKo(
        `function run(n) { return context.getExecutor("${naan}/well/1.0/run").execute({ a: n, b: 1, words: [] }).sum; }`,
        { naan, name: 'nested' },
      ),
      changing: javascriptKo('function run() { return 1; }', { naan, name: 'changing' }),
      hostile: Object.entries(HOSTILE).map(([name, body]) =>
        javascriptKo(`function run() { ${body} }`, { naan, name }),
      ),
    };
    await service.serve(kos.well, kos.files, kos.nested, kos.changing, ...kos.hostile);
    return new Soak(service, await Heap.of(service), kos, seed, clients);
  }

  /** Visits for so many seconds. */
  async go(seconds: number): Promise<void> {
    const until = performance.now() + seconds * 1000;
    await Promise.all(
      Array.from({ length: this.#clients }, async () => {
        while (performance.now() < until) {
          await this.#visits[this.#random.below(this.#visits.length)]?.();
          this.visits++;
        }
      }),
    );
  }

  /** Lets the service come to rest and looks at what it takes; `before`: what it should come back to, if it only ends what it is at. */
  async rest(before?: Rest): Promise<Rest> {
    const until = performance.now() + MAX_REST_MS;
    for (;;) {
      const { memory, treeMemory, handles, children } = await restingFootprintOf(this.#service.pid);
      const isBack = before === undefined || handles <= before.handles;
      // A sandbox that has just been replaced is gone before its pipes are.
      if (isBack || performance.now() > until)
        return { heap: await this.#heap.used(), memory, treeMemory, handles, children: children.length };
      await later(100);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#heap[Symbol.dispose]();
    await this.#service[Symbol.asyncDispose]();
  }
}

/** Fails where the service takes more than it did when it rested before. */
export function assertNothingKept(before: Rest, now: Rest): void {
  const allowed = { heap: 4, memory: 60, treeMemory: 400 };
  for (const [what, megabytes] of Object.entries(allowed) as [keyof typeof allowed, number][]) {
    const grown = now[what] - before[what];
    assert.ok(grown < megabytes * MEGABYTE, `${what} has grown by ${(grown / MEGABYTE).toFixed(1)} MB`);
  }
  assert.ok(now.handles <= before.handles, `${now.handles} open handles, before ${before.handles}`);
  assert.ok(now.children <= before.children, `${now.children} child processes, before ${before.children}`);
}

/** Milliseconds. */
const MAX_REST_MS = 15_000;

interface Kos {
  readonly well: Ko;
  readonly files: Ko;
  readonly nested: Ko;
  readonly changing: Ko;
  readonly hostile: readonly Ko[];
}

function visitsOf(service: OwnService, { well, files, nested, changing, hostile }: Kos): Visit[] {
  const expect = async (asked: Promise<{ status: number; text: string }>, ...allowed: number[]): Promise<void> => {
    const { status, text } = await asked;
    assert.ok(allowed.includes(status), `${status}: ${text.slice(0, 500)}`);
  };
  let calls = 0;
  const call = async (): Promise<void> => {
    const n = ++calls;
    const asked = service.post(pathOf(well), wellInput(n));
    await expect(asked, 200, 500, 503);
    const { status, object } = await asked;
    if (status === 200) assert.deepEqual(object['result'], wellResult(n));
  };
  const goAway = async (sent: string | Buffer, pause: number): Promise<void> => {
    using client = await new RawClient(service.url).connected();
    client.write(sent);
    await client.flushed();
    await later(pause);
  };
  const head = postHead(pathOf(well), { 'Content-Type': 'application/json', 'Content-Length': 100 });
  const zip = zipOf(changing.files);
  const broken = zipOf(changing.files).then((bytes) => {
    const form = upload(bytes);
    return Buffer.concat([
      Buffer.from(
        postHead('/kos', {
          'Content-Type': String(form.headers?.['content-type']),
          'Content-Length': form.body.length,
        }),
      ),
      form.body.subarray(0, form.body.length >> 1),
    ]);
  });
  return [
    ...Array.from({ length: 20 }, () => call),
    () => expect(service.post(pathOf(nested), 1), 200, 500, 503),
    ...batchVisits(service, { well, nested, hostile }),
    () => expect(service.get('/actuator/health'), 200),
    () => expect(service.get('/endpoints'), 200),
    () => expect(service.get('/kos'), 200),
    () => expect(service.get(`/kos/${files.id}?format=zip`), 200),
    () => expect(service.get(`/kos/${files.id}/large.bin`), 200),
    () => expect(service.get(`${pathOf(files, 'files')}/a.txt`), 200),
    () => expect(service.get('/kos/no/such/v1'), 404),
    () => expect(service.post('/no/such/1.0/run', {}), 404),
    () => expect(service.post(pathOf(well), '{'), 400, 503),
    () => expect(service.post(pathOf(well), '', { 'content-type': 'text/strange' }), 415),
    async () => expect(service.importZip(await zip), 200),
    () => expect(service.delete(`/kos/${changing.id}`), 204, 404),
    () => expect(service.get(`/actuator/activation/reload/${changing.id}`), 303, 404),
    () => goAway('', 50),
    () => goAway(head.slice(0, 50), 50),
    () => goAway(`${head}{"a"`, 50),
    async () => goAway(await broken, 20),
    () => goAway(`GET /kos/${files.id}/large.bin HTTP/1.1\r\nHost: x\r\n\r\n`, 20),
    () => goAway(`GET /kos/${files.id}?format=zip HTTP/1.1\r\nHost: x\r\n\r\n`, 20),
    ...hostile.map((ko) => () => expect(service.post(pathOf(ko), {}), 200, 500, 503)),
    ...hostile.map(
      (ko) => () =>
        goAway(`${postHead(pathOf(ko), { 'Content-Type': 'application/json', 'Content-Length': 2 })}{}`, 30),
    ),
  ];
}
