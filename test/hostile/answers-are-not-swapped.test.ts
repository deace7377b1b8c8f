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
import { tryAgain } from '../support/try-again.ts';

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
          if (!honest) return service.post(pathOf(ko), input);
          // On a busy machine it may hear that no sandbox was free in the second that it has.
          const answer = await tryAgain(() => service.post(pathOf(ko), input));
          assert.equal(answer.status, 200, answer.text);
          assert.deepEqual(answer.object, { result: { n }, info: { ko: ko.metadata, inputs: input } });
          return answer;
        }),
      );
    }
  });
}
