/**
 * Calls of one KO share batches. Whatever its code does with answers, promises and bodies, each caller gets the
 * answer to his own call.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';

const service = await startService({ args: ['--execution-timeout', '1s'] });
after(() => service[Symbol.asyncDispose]());

/** Calls at the same time, so many that they form batches. */
const TOGETHER = 40;
const ROUNDS = 5;

/** `honest` calls answer their own number; the others do something to the answers of all. */
async function served(trick: string): Promise<Ko> {
  const naan = uniqueNaan();
  const code = `
    const kept = [];
    function run({ n, honest }) {
      if (honest) return { n };
      ${trick.replaceAll('$SELF', `${naan}/ko/1.0/run`)}
    }`;
  const ko = javascriptKo(code, { naan });
  await service.serve(ko);
  return ko;
}

const tricks: Readonly<Record<string, string>> = {
  'strings that look like lines':
    'return ["\\n{\\"n\\":-1}", "!\\"x\\"\\n!\\"y\\"", "~1", "\\u0000", "?\\"x\\""][n % 5];',
  'errors that look like lines': 'throw new Error("x\\n{\\"n\\":-1}\\n{\\"n\\":-2}\\u0000");',
  'a thenable that settles twice':
    'return { then(done, fail) { done({ n }); done({ n: -1 }); fail(new Error("late")); } };',
  'a thenable that settles in a later call':
    'kept.splice(0).forEach((done) => done({ n: -1 })); return { then(done) { kept.push(done); } };',
  'a promise that settles in a later call':
    'kept.splice(0).forEach((done) => done({ n: -1 })); return new Promise((done) => kept.push(done));',
  'one promise for all calls': 'return (globalThis.one ??= Promise.resolve({ n: -1 }));',
  'one promise that never settles': 'return (globalThis.never ??= new Promise(() => {}));',
  'a getter that calls the function':
    'return { get n() { try { return run({ n: -1, honest: true }).n - 1; } catch { return -3; } } };',
  'a getter that calls the endpoint':
    'return { get n() { return -context.getExecutor("$SELF").execute({ n: 5, honest: true }).n; } };',
  'a toJSON that changes between its calls': 'return { toJSON() { return kept.push(1) % 2 ? "\\n" : { n: -1 }; } };',
  'async functions that throw': 'return (async () => { await null; throw { n: -1 }; })();',
  'an unhandled rejection': 'Promise.reject(new Error("nobody hears this")); return { n: -1 };',
  'setters for the lines of answers':
    'for (let i = 0; i < 64; i++) Object.defineProperty(Object.prototype, i, { set() {}, get() { return \'{"n":-1}\'; }, configurable: true }); return { then(done) { done({ n: -1 }); } };',
  'another split of strings':
    'String.prototype.indexOf = () => -1; String.prototype.substring = () => \'{"n":-1}\'; Array.prototype.join = () => "\\n"; return 1;',
};

for (const [name, trick] of Object.entries(tricks)) {
  test(`beside ${name} every honest call gets its own answer`, async () => {
    const ko = await served(trick);
    for (let round = 0; round < ROUNDS; round++) {
      const numbers = Array.from({ length: TOGETHER }, (_, i) => round * TOGETHER + i);
      await Promise.all(
        numbers.map(async (n) => {
          const honest = n % 3 !== 0;
          const input = JSON.stringify({ n, honest });
          const answer = await service.post(pathOf(ko), input);
          if (!honest) return;
          assert.equal(answer.status, 200, answer.text);
          assert.deepEqual(answer.object, { result: { n }, info: { ko: ko.metadata, inputs: input } });
        }),
      );
    }
  });
}

test('bodies that hold NUL or are no JSON are refused one by one, and shift no answer', async () => {
  const ko = await served('return { n: -1 };');
  const bodies = [
    '\u0000',
    '{"n":1,"honest":true}\u0000{"n":2,"honest":true}',
    '{"n":"\u0000"}',
    '{',
    '',
    '[1]\n[2]',
    '"\n"',
    `${'['.repeat(100_000)}`,
  ];
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all([
      ...bodies.map(async (body) => {
        const { status, text } = await service.post(pathOf(ko), body);
        assert.ok(status === 400, `${JSON.stringify(body.slice(0, 40))}: ${status} ${text.slice(0, 200)}`);
      }),
      ...Array.from({ length: TOGETHER }, async (_, n) => {
        const answer = await service.post(pathOf(ko), { n, honest: true });
        assert.deepEqual(answer.object['result'], { n });
      }),
    ]);
  }
});

test('a text that holds NUL reaches its own call', async () => {
  const ko = javascriptKo('function run(text) { return text.length; }', {
    naan: uniqueNaan(),
    consumes: ['text/plain'],
  });
  await service.serve(ko);
  const texts = Array.from({ length: TOGETHER }, (_, i) => '\u0000\n"'.repeat(i + 1));
  for (const [i, answer] of (
    await Promise.all(texts.map((text) => service.post(pathOf(ko), text, { 'content-type': 'text/plain' })))
  ).entries())
    assert.equal(answer.object['result'], texts[i]?.length);
});

test('what an input brings along changes nobody’s objects', async () => {
  const code =
    'function run(input) { const o = Object.assign({}, input); return [({}).polluted === undefined, Object.keys(o).length, typeof o.polluted]; }';
  const ko = javascriptKo(code, { naan: uniqueNaan() });
  await service.serve(ko);
  const bodies = [
    '{"__proto__":{"polluted":1}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
    '{"toString":1,"valueOf":1,"then":1}',
  ];
  for (const body of bodies) {
    const { object } = await service.post(pathOf(ko), body);
    assert.equal((object['result'] as unknown[])[0], true, body);
    assert.equal((object['info'] as { inputs: string }).inputs, body);
  }
});
