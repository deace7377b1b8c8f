/** `--isolation`: which javascript runs in one process, seen by the processes themselves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { footprintOf } from '../hostile/support/footprint.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { costOf } from './support/process-tree.ts';
import { startService } from './support/service.ts';
import type { OwnService } from './support/service.ts';

/** Some milliseconds of a core. */
const WORK = 'function run(n) { let x = n; for (let i = 0; i < 1e6; i++) x = (x * 31 + i) % 1000003; return x; }';
/** Seconds of a core, of which nothing but the calls can be the cause. */
const CLEARLY = 0.2;

/** Seconds of a core that each sandbox has used. */
async function usage({ pid }: OwnService): Promise<Map<number, number>> {
  const { children } = await footprintOf(pid);
  const costs = await Promise.all(children.map(async (each) => [each, (await costOf(each)).cpu] as const));
  return new Map(costs);
}

/** Calls until it is clear in which process. */
async function processOf(service: OwnService, ko: Ko): Promise<number> {
  assert.equal((await service.post(pathOf(ko), 1)).status, 200);
  const before = await usage(service);
  for (;;) {
    for (let i = 0; i < 20; i++) assert.equal((await service.post(pathOf(ko), i)).status, 200);
    for (const [pid, cpu] of await usage(service)) if (cpu - (before.get(pid) ?? cpu) > CLEARLY) return pid;
  }
}

const pair = () => {
  const [naan, other] = [uniqueNaan(), uniqueNaan()];
  const [one, two] = ['one', 'two'].map((name) => javascriptKo(WORK, { naan, name }));
  const three = javascriptKo(WORK, { naan: other, name: 'one' });
  assert.ok(one && two);
  return [one, two, three] as const;
};

/** A process may be replaced between two looks; what shares one does so in the end. */
async function assertShared(service: OwnService, ...kos: readonly Ko[]): Promise<void> {
  for (;;) {
    const pids = new Set<number>();
    for (const ko of kos) pids.add(await processOf(service, ko));
    if (pids.size === 1) return;
  }
}

test('two naans never share a process with --isolation naan, and two knowledge objects of one do', async () => {
  await using service = await startService({ args: ['--isolation', 'naan'] });
  const [one, two, other] = pair();
  await service.serve(one, two, other);
  await assertShared(service, one, two);
  const own = await processOf(service, other);
  for (const ko of [one, two, one]) assert.notEqual(await processOf(service, ko), own);
});

test('two knowledge objects never share a process with --isolation ko', async () => {
  await using service = await startService({ args: ['--isolation', 'ko'] });
  const kos = pair();
  await service.serve(...kos);
  const pids = new Set<number>();
  for (const ko of kos) pids.add(await processOf(service, ko));
  assert.equal(pids.size, kos.length);
});

test('knowledge objects call each other across processes, also where more call than may have processes', async () => {
  await using service = await startService({ args: ['--isolation', 'ko', '--execution-timeout', '60s'] });
  const naan = uniqueNaan();
  const square = javascriptKo('function run(n) { return n * n; }', { naan, name: 'square' });
  const calls = `context.getExecutor('${naan}/square/1.0/run').execute(n)`;
  const callers = Array.from({ length: 10 }, (_, i) =>
    javascriptKo(`function run(n) { return ${calls} + ${i}; }`, { naan, name: `caller${i}` }),
  );
  await service.serve(square, ...callers);
  const answers = await Promise.all(callers.map((ko) => service.post(pathOf(ko), 3)));
  for (const [i, answer] of answers.entries()) {
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.object['result'], 9 + i);
  }
});
