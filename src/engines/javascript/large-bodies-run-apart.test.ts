import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { until } from '../../../test/runtimes/support/until.ts';
import { TestJavascript } from '../../../test/support/javascript.ts';
import type { Executor } from '../engine.ts';
import { Endpoint } from '../supervisor/endpoint.ts';

const CODE = `
function run(input) {
  if (input.spin === true) for (;;);
  if (input.fail === true) throw new Error('as it was asked to');
  if (input.fill === true) { const all = []; for (;;) all.push(new Array(1e5).fill({})); }
  return { length: (input.list ?? input).length, kept: globalThis.kept = (globalThis.kept ?? 0) + 1 };
}`;
/** Where the limit is not what is tested. */
const PATIENT = { executionTimeout: 120_000 };
/** Characters; what is slowest to parse. */
const bodyOf = (length: number): string => `[${'[],'.repeat(length / 3)}0]`;
const withPadding = (more: object): string => JSON.stringify({ ...more, padding: 'x'.repeat(100_000) });

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((thrown: unknown) => (thrown instanceof Error ? thrown.message : thrown));

/** Of all tests that need no other. */
const javascript = new TestJavascript(PATIENT);
after(() => javascript[Symbol.asyncDispose]());

test('calls with large bodies mark no endpoint, whatever becomes of them', async (t) => {
  const answers = t.mock.method(Endpoint.prototype, 'answered');
  const blames = t.mock.method(Endpoint.prototype, 'putOnProbation');
  const marks = (): number => answers.mock.callCount() + blames.mock.callCount();
  const executor = await javascript.activate(CODE);
  const send = (body: string): Promise<unknown> => outcomeOf(javascript.call(executor, null, { body }));
  const answered = (await javascript.call(executor, null, { body: bodyOf(300_000) })) as { length: number };
  assert.equal(answered.length, 100_001);
  assert.match(String(await send(withPadding({ fill: true }))), /memory limit of 32 MB/);
  assert.match(String(await send('[[],'.repeat(30_000))), /^The request body is not JSON/);
  assert.equal(await send(withPadding({ fail: true })), 'Code execution error: Error: as it was asked to');
  assert.equal(marks(), 0);
  const limited = await javascript.activate(CODE, { id: 'a/limited/1.0/run', options: { timeout: 2000 } });
  const isOut = /no result within the limit of 2 s/;
  await until('the limit has ended one that had a sandbox', async () => {
    const said = await outcomeOf(javascript.call(limited, null, { body: withPadding({ spin: true }) }));
    return isOut.test(String(said)) || undefined;
  });
  assert.equal(marks(), 0);
  assert.deepEqual(await javascript.call(executor, []), { length: 0, kept: 1 });
  assert.equal(marks(), 1);
});

test('small calls of the same endpoint are answered while large bodies are parsed', async () => {
  await using roomy = new TestJavascript({ ...PATIENT, isolateMemoryMb: 512 });
  const executor = await roomy.activate(CODE);
  await roomy.call(executor, []);
  let isOver = false;
  const large = roomy
    .call(executor, null, { body: bodyOf(6_000_000), deadline: Infinity })
    .finally(() => (isOver = true));
  let small = 0;
  for (; small < 25; small++) await roomy.call(executor, []);
  assert.equal(isOver, false, 'the large body came first');
  assert.equal(((await large) as { length: number }).length, 2_000_001);
});

test('a large body may wait for code elsewhere that sends large bodies back', async () => {
  const executor = await javascript.activate(
    'function run(input) { return input.end ? "end" : context.getExecutor("other/engine/1.0/run").execute(input); }',
  );
  javascript.active.set('other/engine/1.0/run', {
    execute: async () => JSON.stringify(await javascript.call(executor, null, { body: withPadding({ end: true }) })),
    dispose: () => undefined,
  });
  const all = Array.from({ length: 4 }, () => javascript.call(executor, null, { body: withPadding({}) }));
  assert.deepEqual(await Promise.all(all), ['end', 'end', 'end', 'end']);
});

test('callers take turns, and what is just large does not wait for what is very large', async () => {
  const executors = await Promise.all(
    ['a/b/1.0/run', 'a/c/1.0/run', 'a/d/1.0/run'].map((id) => javascript.activate(CODE, { id })),
  );
  const order: string[] = [];
  const send = (name: string, executor: Executor, caller: string, body: string): Promise<void> =>
    outcomeOf(javascript.call(executor, null, { body, caller })).then(() => void order.push(name));
  const [first, second, third] = executors as [Executor, Executor, Executor];
  // One caller has far more to send, to all that there is.
  const greedy = [first, second, third, first, second, third, first, second, third].map((executor, i) =>
    send(`greedy ${i}`, executor, 'greedy', bodyOf(450_000)),
  );
  const modest = send('modest', first, 'modest', bodyOf(90_000));
  await Promise.all([...greedy, modest]);
  assert.ok(order.indexOf('modest') <= 3, order.join(', '));
  order.length = 0;
  const endless = withPadding({ spin: true, more: 'x'.repeat(1_100_000) });
  // Of these none ends before the engine does.
  for (const executor of executors) void send('endless', executor, 'greedy', endless);
  await send('just large', first, 'greedy', bodyOf(90_000));
});
