/** The real engine with sandboxes that misbehave on their pipe: each costs itself and its calls, and is in the log. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { inRound } from '../../../test/support/round.ts';
import { TestJavascript } from '../../../test/support/javascript.ts';
import { frame } from '../supervisor/frames.ts';
import { answers, kinds } from '../supervisor/messages.ts';

const folder = await mkdtemp(join(tmpdir(), 'kgrid-odd-'));
const node = process.execPath;
const program = join(folder, 'node');
const compiled = join(import.meta.dirname, '../../../node_modules/.cache/compiled');
await writeFile(
  program,
  `#!/bin/sh\nNODE_COMPILE_CACHE=${compiled} exec ${node} ${join(import.meta.dirname, '../../../test/support/javascript/odd-sandbox.ts')}\n`,
);
await chmod(program, 0o755);
process.execPath = program;
const javascript = new TestJavascript({ executionTimeout: 20_000 });
after(async () => {
  process.execPath = node;
  await javascript[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});
const executor = await javascript.activate('');
/** Of the executor, the only one that there is. */
const SLOT = 1;
/** The sandbox puts that of the call in its place. */
const NUMBER = 0xfffffff0;
const { ask, answer, begun, log, ping, results } = kinds;
const ENDED = 'the sandbox process ended under this code';

const messageOf = (input: unknown): Promise<string> =>
  javascript.call(executor, input).then(
    (value) => `it gave ${JSON.stringify(value)}`,
    (thrown: unknown) => (thrown as Error).message,
  );
const send = (...parts: Buffer[]): Promise<string> => messageOf({ bytes: Buffer.concat(parts).toString('base64') });
const withHeader = (bytes: Buffer, length: number): Buffer => {
  bytes.writeUInt32LE(length, 0);
  return bytes;
};
const question = (more: object): string =>
  `${JSON.stringify({ what: 'find', id: 'a', contentType: '', depth: 1, left: 1, ...more })}\n`;

const odd: Readonly<Record<string, Buffer>> = {
  'a kind that nobody knows': frame(99, SLOT, 0, ''),
  'a kind of the other side': frame(kinds.define, SLOT, 0, ''),
  'a text of 4 GB': withHeader(frame(results, NUMBER, 1, ''), 0xffffffff),
  'a text too long for a failure': withHeader(frame(answer, NUMBER, answers.thrown, ''), 100_000),
  'an answer to other work': frame(results, 7_000_000, 1, '1'),
  'an answer to no work': frame(answer, 0, answers.thrown, '{"description":""}'),
  'two answers for one call': frame(results, NUMBER, 1, '1\n2'),
  'an empty answer': frame(results, NUMBER, 1, ''),
  'an error that is no JSON': frame(results, NUMBER, 1, '!1{'),
  'an error that is no object': frame(results, NUMBER, 1, '!1null'),
  'an error without a message': frame(results, NUMBER, 1, '!1{"description":7}'),
  'an error of another status': frame(results, NUMBER, 1, '!3{"description":"x","status":200}'),
  'an error of no kind': frame(results, NUMBER, 1, '!{"description":"x"}'),
  'a failure that is no JSON': frame(answer, NUMBER, answers.thrown, 'x'),
  'a failure without a reason': frame(answer, NUMBER, 99, '{"description":""}'),
  'a question without a body': frame(ask, 0, NUMBER, '{}'),
  'a question of no kind': frame(ask, 0, NUMBER, question({ what: 'odd' })),
  'a question that is too deep': frame(ask, 0, NUMBER, question({ depth: 1000 })),
  'a question less deep than its call': frame(ask, 0, NUMBER, question({ depth: -1 })),
  'a question with a long id': frame(ask, 0, NUMBER, question({ id: 'x'.repeat(2000) })),
  'a call without a result': frame(answer, NUMBER, answers.result, ''),
  'a question of other work': frame(ask, 0, 7_000_000, question({})),
  'signs of life without end': Buffer.concat(Array.from({ length: 20 }, () => frame(ping, 0, 0, ''))),
  'beginnings without end': Buffer.concat(Array.from({ length: 20 }, () => frame(begun, NUMBER, 0, ''))),
  'a log line of no endpoint': frame(log, 0, 0, 'info\nx'),
  'a log line of no level': frame(log, SLOT, 0, 'odd\nx'),
  'a flood of log lines': Buffer.concat(Array.from({ length: 300 }, () => frame(log, SLOT, 0, 'info\nx'))),
  'a text that is not UTF-8': Buffer.concat([withHeader(frame(results, NUMBER, 1, ''), 2), Buffer.of(0xc3, 0x28)]),
};

for (const [what, bytes] of Object.entries(odd)) {
  test(`${what} ends the sandbox, and the call is answered`, async () => {
    javascript.log.length = 0;
    assert.equal(
      await send(bytes),
      `Code execution error: ${ENDED} (it was ended, since it sent what no sandbox sends)`,
    );
    const reasons = javascript.log.filter(({ msg }) => msg === 'a sandbox ended during a call');
    assert.ok(reasons.length >= 1);
    for (const { reason } of reasons)
      assert.match(String(reason), /^it was ended, since it sent what no sandbox sends: \S/);
    assert.equal(await messageOf('fine'), 'it gave "fine"');
  });
}

test('a sandbox that ends by itself, or closes its pipe, is told from code that fails', async () => {
  assert.equal(await messageOf({ signal: 'SIGSEGV' }), `Code execution error: ${ENDED} (SIGSEGV)`);
  assert.equal(
    await messageOf({ close: true }),
    `Code execution error: ${ENDED} (it was ended, since it closed its pipe)`,
  );
  assert.equal(await messageOf({ signal: 'SIGKILL' }), 'the sandbox was ended from outside during the call; try again');
  assert.equal(await messageOf('fine'), 'it gave "fine"');
});

test('calls beside the one under which it ends are answered', async () => {
  const calls = [{ signal: 'SIGSEGV' }, 'one', 'two', 'three'].map(messageOf);
  assert.deepEqual(await Promise.all(calls), [
    `Code execution error: ${ENDED} (SIGSEGV)`,
    'it gave "one"',
    'it gave "two"',
    'it gave "three"',
  ]);
});

test('whatever bytes it sends, the service goes on', async () => {
  const ofSandboxes = fc.constantFrom(ping, results, answer, ask, log, begun, kinds.lines, 0, 255);
  const texts = fc.oneof(fc.json(), fc.string({ unit: 'binary' }), fc.constantFrom('', '\n', '!', '?', '{}\n'));
  const frames = fc
    .tuple(ofSandboxes, fc.constantFrom(0, SLOT, 2, NUMBER), fc.constantFrom(0, 1, 5, 8, NUMBER), texts)
    .map((each) => frame(...each));
  const samples = fc.sample(fc.array(frames, { minLength: 1, maxLength: 3 }), {
    numRuns: inRound(8, 25),
    seed: 20_261_122,
  });
  for (const parts of samples) {
    // The last is odd in any case, since what came before may be taken for an answer, or for nothing.
    assert.match(await send(...parts, frame(99, 0, 0, '')), /^it gave|^Code execution error|^The request body/);
    assert.equal(await messageOf('fine'), 'it gave "fine"');
  }
});
