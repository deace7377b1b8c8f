/** After a thousand times the service has as many files, processes and bytes as before. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, test } from 'node:test';
import type { Answer } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { assertBackTo, MEGABYTE, restingFootprintOf } from '../hostile/support/footprint.ts';
import { Heap, INSPECTED } from './support/heap.ts';

const CYCLES = 1000;
const AT_ONCE = 5;
/** Bytes of every package, which would show if it were kept. */
const WEIGHT = 20_000;

// The last goes first: a process that is looked into waits for whoever does.
const owned = new AsyncDisposableStack();
after(() => owned.disposeAsync());
const service = owned.use(
  await startService({
    env: INSPECTED,
    args: ['--execution-timeout', '100ms', '--isolate-memory', '16MB', '--keep-removed', '0'],
  }),
);
const heap = owned.use(await Heap.of(service));
/** All but the audit, which is to keep what was done, within bounds of its own. */
const onDisk = async (): Promise<string[]> =>
  (await readdir(service.shelf, { recursive: true })).filter((path) => !path.startsWith('.kgrid/audit/')).sort();

/** Does it so many times, a few at once. */
async function repeat(times: number, work: (n: number) => Promise<void>): Promise<void> {
  const numbers = Array.from({ length: times }, (_, n) => n).values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const n of numbers) await work(n);
    }),
  );
}

/** The limit of 100 ms is for the calls that the service has to end: a busy machine may give no other its turn in it. */
async function turnOf(ko: Ko): Promise<Answer> {
  for (const until = Date.now() + 10_000; ;) {
    const answer = await service.post(pathOf(ko), {});
    if (answer.status !== 503 || Date.now() > until) return answer;
  }
}

/** Compares what it costs after a few times with what it costs after many, in resident megabytes too. */
async function assertNothingIsKept(work: (n: number) => Promise<void>, megabytes: number): Promise<void> {
  await repeat(CYCLES / 10, work);
  const [before, used, files] = [await restingFootprintOf(service.pid), await heap.used(), await onDisk()];
  await repeat(CYCLES, (n) => work(CYCLES + n));
  const grown = (await heap.used()) - used;
  assert.ok(grown < 8 * MEGABYTE, `${grown} bytes more are in use`);
  assert.deepEqual(await onDisk(), files);
  await assertBackTo(before, service.pid, { memory: megabytes * MEGABYTE });
}

test('a thousand knowledge objects that are imported, run, reloaded and deleted leave nothing', async () => {
  const naan = uniqueNaan();
  await assertNothingIsKept(async (n) => {
    const filler = `${n} `.padEnd(WEIGHT, 'x');
    const ko: Ko = javascriptKo(`/* ${filler} */ function run() { return ${n}; }`, {
      naan,
      name: `ko${n}`,
      serverUrl: `/${naan}/ko${n}`,
      metadata: { description: filler },
    });
    await service.serve(ko);
    const answer = await turnOf(ko);
    assert.equal(answer.object['result'], n, answer.text.slice(0, 500));
    assert.equal((await service.delete(`/kos/${ko.id}`)).status, 204);
    await service.reload(ko);
    assert.equal((await service.post(pathOf(ko), {})).status, 404);
  }, 100);
});

test('a thousand calls that the service has to end leave nothing', async () => {
  const naan = uniqueNaan();
  const bodies = [
    'while (true);',
    '[].indexOf.call({ length: 2 ** 53 - 1 }, 1);',
    'const a = []; for (;;) a.push({ text: "x" + a.length });',
    'return "x".repeat(3e7);',
    'return new Promise(() => {});',
    'throw { get message() { while (true); } };',
    'throw new Error("x");',
  ];
  const kos = bodies.map((body, i) => javascriptKo(`function run() { ${body} }`, { naan, name: `hostile${i}` }));
  await service.serve(...kos);
  let ended = 0;
  await assertNothingIsKept(async (n) => {
    const ko = kos[n % kos.length];
    assert.ok(ko !== undefined);
    for (let status = 503; status === 503;) ({ status } = await service.post(pathOf(ko), {}));
    ended++;
  }, 50);
  assert.ok(ended >= CYCLES);
});
