import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TestJavascript } from '../../../test/support/javascript.ts';

const javascript = new TestJavascript();
after(() => javascript[Symbol.asyncDispose]());

const DAY = 24 * 60 * 60 * 1000;
const SLEEP = 'const sleep = (ms, value) => new Promise((done) => setTimeout(done, ms, value));';

test('a timer fires at once when nothing else is left, in the order of the times, and no clock goes with it', async () => {
  const executor = await javascript.activate(`${SLEEP}
    async function run(ms) {
      const seen = [];
      const [date, now] = [Date.now(), performance.now()];
      setTimeout(() => seen.push('late'), ms);
      setTimeout(() => { seen.push('soon'); setTimeout(() => seen.push('then'), ms / 3); Promise.resolve().then(() => seen.push('micro')); }, ms / 2);
      setTimeout((a, b) => seen.push(a + b), undefined, 'at', ' once');
      clearTimeout(setTimeout(() => seen.push('cleared'), 1));
      let ticks = 0;
      const interval = setInterval(() => { seen.push('tick'); if (++ticks === 2) clearInterval(interval); }, ms / 8);
      queueMicrotask(() => seen.push('first'));
      await sleep(2 * ms);
      return { seen, passed: Date.now() - date + performance.now() - now < ms };
    }`);
  assert.deepEqual(await javascript.call(executor, DAY), {
    seen: ['first', 'at once', 'tick', 'tick', 'soon', 'micro', 'then', 'late'],
    passed: true,
  });
});

test('timers of one call fire in no other, also in one batch', async () => {
  const executor = await javascript.activate(`${SLEEP}
    let mine;
    async function run(n) {
      await null;
      if (n % 3 === 0) setTimeout(() => { mine = n; }, 1000);
      setInterval(() => { if (mine !== n) mine = 'of ' + n; }, 7);
      mine = n;
      await sleep(n % 5);
      return mine;
    }`);
  const inputs = Array.from({ length: 200 }, (_, i) => i);
  assert.deepEqual(await Promise.all(inputs.map((n) => javascript.call(executor, n))), inputs);
});

test('what was begun and not awaited ends with its call', async () => {
  const executor = await javascript.activate(`
    let fired = 0;
    function run(how) {
      if (how === 'set') { setTimeout(() => fired++, 1); Promise.resolve().then(() => setTimeout(() => fired++, 1)); }
      return how === 'wait' ? new Promise((done) => setTimeout(() => done(fired), 100)) : fired;
    }`);
  const calls = ['set', 'set', 'wait', 'see', 'wait', 'set'].map((how) => javascript.call(executor, how));
  assert.deepEqual(await Promise.all(calls), [0, 0, 0, 0, 0, 0]);
});

test('what a timer throws fails the call that waits, and a promise without a timer never settles', async () => {
  const executor = await javascript.activate(`
    function run(how) {
      if (how === 'throws') setTimeout(() => { throw new TypeError('in a timer'); }, 1);
      if (how === 'micro') queueMicrotask(() => { throw new TypeError('in a microtask'); });
      if (how === 'listener') {
        const target = new EventTarget();
        target.addEventListener('x', () => { throw new TypeError('in a listener'); });
        target.dispatchEvent(new Event('x'));
      }
      return how === 'fine' ? Promise.resolve(how) : new Promise(() => undefined);
    }`);
  const outcomes = ['throws', 'fine', 'micro', 'listener', 'never'].map((how) =>
    javascript.call(executor, how).catch((thrown: Error) => thrown.message),
  );
  assert.deepEqual(await Promise.all(outcomes), [
    'Code execution error: TypeError: in a timer',
    'fine',
    'Code execution error: TypeError: in a microtask',
    'Code execution error: TypeError: in a listener',
    'Code execution error: the promise that the function returned never settles',
  ]);
});

test('the limit of a call bounds timers that go on for ever, and those of a call below it', async () => {
  const forever = 'const again = () => setTimeout(again, 1000); again(); return new Promise(() => undefined);';
  const id = 'a/forever/1.0/run';
  const message = 'Code execution error: no result within the limit of 0.5 s (timeout in its deployment descriptor)';
  const options = { timeout: 500 };
  const looping = await javascript.activate(`function run() { ${forever} }`, { id, options });
  await assert.rejects(javascript.call(looping), { message });
  const outer = await javascript.activate(
    `function run() { try { return context.getExecutor("${id}").execute(1); } catch (e) { return e.message; } }`,
  );
  assert.match(String(await javascript.call(outer)), /it gave no result within the time that was left/);
});

test('a module may wait at its top level; what is left when it has loaded does not fire', async () => {
  const executor = await javascript.activate(
    `${SLEEP} let late = false; setTimeout(() => { late = true; }, 50);
    const value = await sleep(10, 'loaded'); setInterval(() => undefined, 1);
    export const run = () => new Promise((done) => setTimeout(() => done([value, late]), 1000));`,
    { entry: 'src/main.mjs' },
  );
  assert.deepEqual(await javascript.call(executor), ['loaded', false]);
});
