import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TestJavascript } from '../../../test/support/javascript.ts';

/** Code whose top level fails where anything of other code can be seen. */
const ALONE = `
if (typeof left !== 'undefined' || [].left || Symbol.for('left').left || ''.left) throw new Error('something is left');
var left = 1;
Object.prototype.left = Array.prototype.left = String.prototype.left = 1;
JSON.parse = JSON.stringify = Reflect.apply = () => { throw new Error('of another'); };
function run(input) { return input; }`;

const javascript = new TestJavascript({ isolateMemoryMb: 32 });
after(() => javascript[Symbol.asyncDispose]());
const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `a/n${i}/1.0/run`);

test('code that is checked in one isolate sees nothing of what was checked there before', async () => {
  await Promise.all(names(20).map((id) => javascript.activate(ALONE, { id })));
});

test('what needs too much beside other code is tried alone: nobody else’s memory is the reason', async () => {
  // About 20 MB each, kept.
  const code = 'const kept = Array.from({ length: 2.5e6 }, (_, i) => i + 0.5); function run() { return kept.length; }';
  await Promise.all(names(6).map((id) => javascript.activate(code, { id })));
});

test('what code leaves behind for later holds up its own activation at most', async () => {
  const options = { timeout: 1000 };
  const trap = `
    const registry = new FinalizationRegistry(() => { for (;;); });
    for (let i = 0; i < 1e4; i++) registry.register({ i }, i);
    const garbage = () => Array.from({ length: 1e5 }, (_, i) => ({ i }));
    for (let i = 0; i < 20; i++) garbage();
    Promise.resolve().then(() => garbage());
    function run() { return 1; }`;
  const outcomes = await Promise.allSettled(
    names(24).map((id, i) =>
      i % 8 === 0
        ? javascript.activate(trap, { id, options })
        : javascript.activate('function run() { return 2; }', { id }),
    ),
  );
  const good = outcomes.filter((_, i) => i % 8 !== 0);
  assert.deepEqual(
    good.filter(({ status }) => status === 'rejected'),
    [],
  );
});

test('code that cannot be loaded says why, wherever it was tried', async () => {
  const bad: [code: string, reason: RegExp, timeout?: number][] = [
    ['function run( {', /SyntaxError: .* \(src\/index\.js line 1, column/],
    ['\nthrow new TypeError("no");', /TypeError: no \(src\/index\.js line 2/],
    ['const other = 1;', /there is no function 'run' in src\/index\.js/],
    ['for (;;);', /the top level of src\/index\.js does not end within 1 s/, 1000],
    ['const all = []; for (;;) all.push(new Array(1e5).fill({}));', /needs more than 32 MB of memory/],
  ];
  const outcomes = await Promise.allSettled(
    bad.flatMap(([code, , timeout], i) => [
      javascript.activate(code, { id: `a/bad${i}/1.0/run`, options: { timeout } }),
      javascript.activate('function run() {}', { id: `a/good${i}/1.0/run` }),
    ]),
  );
  outcomes.forEach((outcome, i) => {
    const [, reason] = bad[i >> 1] ?? [];
    if (i % 2 === 1) assert.equal(outcome.status, 'fulfilled', String(i));
    else assert.match(String(outcome.status === 'rejected' && outcome.reason), reason ?? /never/);
  });
});
