/** Hostile code from outside: the short round of `npm run test:long hostile`, with a few cases of each of its tables. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { escapes } from '../hostile/cases/escapes.ts';
import { floods } from '../hostile/cases/floods.ts';
import { loops } from '../hostile/cases/loops.ts';
import { memoryBombs } from '../hostile/cases/memory.ts';
import { nativeLoops } from '../hostile/cases/native-loops.ts';
import { results } from '../hostile/cases/results.ts';
import { tampering } from '../hostile/cases/tampering.ts';
import { thrownValues } from '../hostile/cases/thrown-values.ts';
import { assertHeld, MOST, TooBusy } from '../hostile/support/attack.ts';
import { wellBehavedKo } from '../hostile/support/companion.ts';
import { footprintOf, Peak } from '../hostile/support/footprint.ts';
import { hostileKo } from '../hostile/support/hostile-case.ts';
import type { HostileCase } from '../hostile/support/hostile-case.ts';
import { Pace } from '../hostile/support/pace.ts';
import { until } from '../runtimes/support/until.ts';
import { inRound, longTest } from '../support/round.ts';
import { ranOutOfTime, tryAgain } from '../support/try-again.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, welcomeKo } from './support/ko.ts';
import { costOf } from './support/process-tree.ts';
import { startService } from './support/service.ts';
import type { OwnService } from './support/service.ts';

/**
 * Milliseconds. The first is half of that of the ring, since most of its processor time is that of code which does not
 * end; the other is for machines on which what ends at once does not within it.
 */
const LIMITS = [500, 10_000];
let limit = 0;
let service: OwnService;
after(() => service[Symbol.asyncDispose]());

/** Others may keep the machine busy: promises of time are measured by its own clock. */
const pace = new Pace();
after(() => pace[Symbol.dispose]());
const naan = uniqueNaan();
const victim = wellBehavedKo(naan);
const files = resourceKo({ naan, name: 'files', resources: { 'a.txt': 'a' } });

/** Goes on with the next limit. */
async function start(): Promise<void> {
  limit = LIMITS.shift() ?? limit;
  service = await startService({
    args: ['--execution-timeout', `${limit}ms`, '--isolate-memory', '32MB', '--max-result', '100000'],
  });
  await service.serve(victim, files);
}
await start();

/** On a busy machine a call may be told to try again, or come to its limit; it is answered within a second all the same. */
async function assertVictimIsWell(): Promise<void> {
  const answer = await tryAgain(async () => {
    const began = Date.now();
    const answer = await service.post(pathOf(victim), { a: 1, b: 2, words: ['x', 'y'] });
    const took = Date.now() - began;
    assert.ok(took < pace.allowed(1000, began, took), `${took} ms`);
    return answer;
  }, ranOutOfTime);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.object['result'], { sum: 3, words: 'y x', clean: true });
}

let cases = 0;
async function assertContained(table: readonly HostileCase[], ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const each = table.find((one) => one.name === name);
    assert.ok(each, `a case named ${name}`);
    for (let isDone = false; !isDone;) {
      const ko = hostileKo(naan, each, cases++);
      await service.serve(ko);
      try {
        await assertHeld(service, ko, each, { pace, limit, ...(LIMITS.length > 0 && { triesMs: 10_000 }) });
        isDone = true;
      } catch (thrown) {
        if (!(thrown instanceof TooBusy) || LIMITS.length === 0) throw thrown;
        await service[Symbol.asyncDispose]();
        await start();
      }
    }
    await assertVictimIsWell();
  }
}

test('an endless loop ends at the limit of its call', () =>
  assertContained(loops, 'a loop that catches all', 'a regular expression that backtracks for ever'));

longTest('endless loops in promises end at the limit of their call', () =>
  assertContained(loops, 'awaiting without end', 'a loop in a promise that nobody waits for'),
);

longTest('a loop inside a built-in ends at the limit of its call', () =>
  assertContained(nativeLoops, 'indexOf on a length of 2 ** 53'),
);

test('loops in what the service itself reads end at the limit', async () => {
  await assertContained(thrownValues, 'an error with a looping stack');
  await assertContained(loops, 'a toJSON that loops');
});

test('memory bombs end as errors', async () => {
  const bombs = ['objects without end', 'concat of itself', 'ArrayBuffers'];
  await assertContained(memoryBombs, ...bombs);
  await assertContained(results, '2 ** 30 strings by reference');
});

test('buffers that evade the heap limit are bounded', async () => {
  using peak = new Peak(await footprintOf(service.pid), () => service.pid);
  await assertContained(memoryBombs, 'ArrayBuffers that grow', 'memory of WebAssembly', 'SharedArrayBuffers');
  peak.assertWithin(MOST);
});

test('endless recursion and deep results are errors', async () => {
  await assertContained(loops, 'endless recursion');
  await assertContained(results, 'an object a million deep');
});

test('changed built-ins, forged answers and log lines, and ways out lead nowhere', async () => {
  await assertContained(tampering, 'Promise.prototype.then', 'Array.prototype', 'every global');
  await assertContained(results, 'what looks like an error', 'raw JSON with a line end', 'the wrapping of an answer');
  await assertContained(thrownValues, 'a message that is a forged answer');
  await assertContained(floods, 'log lines that forge others', 'inputs that another KO cannot take');
  await assertContained(escapes, 'names of hosts', 'an error of the service thrown by a question', 'import of a file');
});

test('code that never ends at its top level fails its activation only', async () => {
  for (const code of ['while (true); function run() {}', 'await new Promise(() => {}); export function run() {}']) {
    const ko = javascriptKo(code, { naan: uniqueNaan() });
    await service.serve(ko);
    const [endpoint] = await service.endpoints(ko.naan);
    assert.equal(endpoint?.['status'], 'FAILED_TO_ACTIVATE', code);
    assert.match(String(endpoint['detail']), /src\/index\.js/);
    await assertVictimIsWell();
  }
});

test('50 spinning calls keep neither another KO nor the health waiting', async () => {
  await using own = await startService({ args: ['--execution-timeout', inRound('400ms', '1s')] });
  const welcome = welcomeKo({ naan });
  const spinner = javascriptKo('function run() { while (true); }', { naan, name: 'spinner' });
  const loop = 'function run() { return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); }';
  const native = javascriptKo(loop, { naan, name: 'native' });
  await own.serve(welcome, spinner, native);
  let over = false;
  const spinning = Promise.all(
    Array.from({ length: 50 }, (_, i) => own.post(pathOf(i % 5 === 0 ? native : spinner), {})),
  ).finally(() => (over = true));
  const waits = { health: 0, victim: 0, rounds: 0 };
  /** Milliseconds of a machine that has nothing else to do. */
  const timed = async (call: () => Promise<unknown>): Promise<number> => {
    const began = Date.now();
    await call();
    const took = Date.now() - began;
    return (1000 * took) / pace.allowed(1000, began, took);
  };
  while (!over) {
    const health = await timed(async () => assert.equal((await own.get('/actuator/health')).object['status'], 'UP'));
    const call = await timed(async () => {
      const { status, text } = await tryAgain(
        () => own.post(pathOf(welcome, 'welcome'), { name: 'Ada' }),
        ranOutOfTime,
      );
      assert.equal(status, 200, text);
    });
    waits.health = Math.max(waits.health, health);
    waits.victim = Math.max(waits.victim, call);
    waits.rounds++;
    await later(50);
  }
  assert.ok(waits.rounds > 0 && waits.health < 1000 && waits.victim < 1500, JSON.stringify(waits));
  for (const answer of await spinning) {
    assert.ok(answer.status === 500 || answer.status === 503, `${answer.status} ${answer.text}`);
  }
});

test('calls of others that were running beside a hostile one get their answers', async () => {
  const hostile = javascriptKo('function run() { return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); }', {
    naan,
    name: 'beside',
  });
  await service.serve(hostile);
  const began = Date.now();
  const attack = tryAgain(() => service.post(pathOf(hostile), {}));
  const others = await Promise.all(
    Array.from({ length: 100 }, async (_, i) => {
      await later((i % 20) * 30);
      return service.post(pathOf(victim), { a: i, b: 1, words: [] });
    }),
  );
  const isTooSlow = pace.isTooSlow(began, Date.now() - began);
  for (const [i, answer] of others.entries())
    if (answer.status === 200) assert.deepEqual(answer.object['result'], { sum: i + 1, words: '', clean: true });
    else assert.ok(isTooSlow && ranOutOfTime(answer), answer.text);
  assert.ok(others.some(({ status }) => status === 200));
  assert.equal((await attack).status, 500);
});

test('after all this nothing spins any more and the activator has not grown', async () => {
  let { tree, memory } = await costOf(service.pid);
  await until('it uses less than half of a core', async () => {
    const before = tree.cpu;
    await later(1000);
    ({ tree, memory } = await costOf(service.pid));
    return tree.cpu - before < 0.5 ? true : undefined;
  });
  assert.ok(memory < 400e6, `${Math.round(memory / 1e6)} MB`);
  assert.ok(tree.memory < 1e9, `${Math.round(tree.memory / 1e6)} MB in all`);
});
