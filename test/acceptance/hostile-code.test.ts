import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { assertRequestError } from './support/expectations.ts';
import { Pace } from '../hostile/support/pace.ts';
import { until } from '../remote/support/until.ts';
import type { Answer } from './support/client.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, welcomeKo } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { costOf } from './support/process-tree.ts';
import { startService } from './support/service.ts';

const LIMIT = 1000;
/** A call may end this much after its limit. */
const GRACE = 1500;
const service = await startService({ args: ['--execution-timeout', `${LIMIT}ms`, '--isolate-memory', '32MB'] });
after(() => service[Symbol.asyncDispose]());

/** Others may keep the machine busy: promises of time are measured by its own clock. */
const pace = new Pace();
after(() => pace[Symbol.dispose]());
const victim = welcomeKo({ naan: uniqueNaan() });
await service.serve(victim);

async function assertVictimIsWell(): Promise<void> {
  await withinPace(1000, async () => {
    const answer = await service.post(pathOf(victim, 'welcome'), { name: 'Ada' });
    assert.equal(answer.status, 200, answer.text);
  });
}

/** Asserts that something takes no more than so many milliseconds of a machine that has nothing else to do. */
async function withinPace<T>(promised: number, work: () => Promise<T>): Promise<T> {
  const began = Date.now();
  const result = await work();
  const took = Date.now() - began;
  const allowed = pace.allowed(promised, began, took);
  assert.ok(took < allowed, `${took} ms, allowed are ${allowed}`);
  return result;
}

/** The answer of a call that got a sandbox; on a busy machine it may be told to try again. */
const answerOfOneThatRan = (path: string, input: unknown): Promise<Answer> =>
  until(
    `a call of ${path} gets a sandbox`,
    async () => {
      const answer = await withinPace(LIMIT + GRACE, () => service.post(path, input));
      return answer.status === 503 ? undefined : answer;
    },
    60_000,
  );

/** Serves code that does the hostile thing only for `{"hostile": true}`. */
async function served(body: string): Promise<Ko> {
  const ko = javascriptKo(
    `async function later() {}\nfunction run(input) { if (!input.hostile) return "well"; ${body} }`,
    { naan: uniqueNaan() },
  );
  await service.serve(ko);
  return ko;
}

async function assertContained(body: string): Promise<void> {
  const ko = await served(body);
  const answer = await answerOfOneThatRan(pathOf(ko), { hostile: true });
  const expected = {
    status: 500,
    path: pathOf(ko),
    title: 'General Adapter Exception',
    detail: /^Code execution error: \S/,
  };
  assertRequestError(answer, expected);
  await assertVictimIsWell();
  const well = await answerOfOneThatRan(pathOf(ko), {});
  assert.equal(well.object['result'], 'well', `${body}: ${well.text}`);
}

test('an endless loop ends at the limit of its call', async () => {
  for (const body of [
    'while (true);',
    'for (;;) try { throw 1 } catch {}',
    'return /^(a+)+$/.test("a".repeat(40) + "b");',
  ]) {
    await assertContained(body);
  }
});

test('endless loops in promises end at the limit of their call', async () => {
  const bodies = [
    'return (async () => { for (;;) await 0; })();',
    'return (async () => { await 0; while (true); })();',
    'return later().then(() => { while (true); });',
    'later().then(() => { while (true); }); return 1;',
  ];
  for (const body of bodies.slice(0, 3)) await assertContained(body);
  const ko = await served(bodies[3] ?? '');
  await service.post(pathOf(ko), { hostile: true });
  await assertVictimIsWell();
});

test('a loop inside a built-in ends at the limit of its call', async () => {
  await assertContained('return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);');
  await assertContained('const a = []; a.length = 2 ** 32 - 1; for (;;) a.indexOf(1);');
});

test('loops in what the service itself reads end at the limit', async () => {
  await assertContained('throw { get message() { while (true); } };');
  await assertContained(
    'const e = new Error("x"); Object.defineProperty(e, "stack", { get() { while (true); } }); throw e;',
  );
  await assertContained('return { toJSON() { while (true); } };');
  await assertContained('return { get x() { while (true); } };');
});

test('memory bombs end as errors', async () => {
  const bombs = [
    'const a = []; for (;;) a.push({ text: "x" + a.length });',
    'let a = [1]; for (;;) a = a.concat(a);',
    'return "x".repeat(2 ** 29 - 100) + "y";',
    'const a = []; for (;;) a.push(new Uint8Array(2 ** 20).fill(1));',
    'return new Array(6e7).fill(1).length > 0 ? new Array(1e8).fill("xxxxxxxx") : 0;',
    'let o = ["x".repeat(1000)]; for (let i = 0; i < 30; i++) o = [o, o]; return o;',
  ];
  for (const bomb of bombs) await assertContained(bomb);
});

test('buffers that evade the heap limit are bounded', async () => {
  const bombs = [
    'const a = []; for (let i = 0; i < 1500; i++) { const b = new ArrayBuffer(1, { maxByteLength: 2 ** 20 }); b.resize(2 ** 20); new Uint8Array(b).fill(1); a.push(b); } return a.length;',
    'const m = new WebAssembly.Memory({ initial: 1, maximum: 65536 }); m.grow(60000); new Uint8Array(m.buffer).fill(1); return 1;',
    'const a = []; for (;;) a.push(new SharedArrayBuffer(2 ** 24));',
  ];
  for (const bomb of bombs) {
    const ko = await served(bomb);
    let most = 0;
    const call = service.post(pathOf(ko), { hostile: true });
    const watch = (async () => {
      for (let i = 0; i < 20; i++) {
        most = Math.max(most, (await costOf(service.pid)).tree.memory);
        await later(50);
      }
    })();
    await Promise.all([call, watch]);
    assert.ok(most < 1.5e9, `${Math.round(most / 1e6)} MB: ${bomb}`);
    await assertVictimIsWell();
  }
});

test('endless recursion and deep results are errors', async () => {
  for (const body of ['return run(input);', 'let o = {}; for (let i = 0; i < 1e6; i++) o = { o }; return o;'])
    await assertContained(body);
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
  await using own = await startService({ args: ['--execution-timeout', '2s'] });
  const naan = uniqueNaan();
  const spinner = javascriptKo('function run() { while (true); }', { naan, name: 'spinner' });
  const loop = 'function run() { return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); }';
  const native = javascriptKo(loop, { naan, name: 'native' });
  await own.serve(victim, spinner, native);
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
    const call = await timed(async () =>
      assert.equal((await own.post(pathOf(victim, 'welcome'), { name: 'Ada' })).status, 200),
    );
    waits.health = Math.max(waits.health, health);
    waits.victim = Math.max(waits.victim, call);
    waits.rounds++;
    await later(50);
  }
  assert.ok(waits.rounds > 2 && waits.health < 1000 && waits.victim < 1500, JSON.stringify(waits));
  for (const answer of await spinning) {
    assert.ok(answer.status === 500 || answer.status === 503, `${answer.status} ${answer.text}`);
  }
});

test('calls of others that were running beside a hostile one get their answers', async () => {
  const hostile = await served('return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);');
  const attack = service.post(pathOf(hostile), { hostile: true });
  const others = await Promise.all(
    Array.from({ length: 100 }, async (_, i) => {
      await later((i % 20) * 60);
      return service.post(pathOf(victim, 'welcome'), { name: `n${i}` });
    }),
  );
  for (const [i, answer] of others.entries())
    assert.equal(answer.object['result'], `Welcome to the Knowledge Grid, n${i}`);
  assert.equal((await attack).status, 500);
});

test('after all this nothing spins any more and the activator has not grown', async () => {
  await later(1000);
  const before = await costOf(service.pid);
  await later(1000);
  const { tree, memory } = await costOf(service.pid);
  assert.ok(tree.cpu - before.tree.cpu < 0.5, `${tree.cpu - before.tree.cpu} s of processor time in one second`);
  assert.ok(memory < 400e6, `${Math.round(memory / 1e6)} MB`);
  assert.ok(tree.memory < 1e9, `${Math.round(tree.memory / 1e6)} MB in all`);
});
