/** Many KOs that each do a little harm at the same time: no call of theirs is what keeps the others waiting. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../acceptance/support/client.ts';
import { explode } from '../acceptance/support/folders.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { Companion, wellBehavedKo } from './support/companion.ts';
import { assertBackTo, MEGABYTE, restingFootprintOf } from './support/footprint.ts';

const LIMIT = 1500;
const GRACE = 1000;

interface Load {
  readonly name: string;
  readonly code: string;
  readonly kos: number;
  /** Clients of each KO. */
  readonly clients: number;
  readonly milliseconds: number;
  /** Whether the clients of the load get answers too. */
  readonly isServed?: boolean;
}

const loads: readonly Load[] = [
  {
    name: 'what takes 60 ms each time, too short to be stuck',
    code: 'function run() { const end = Date.now() + 60; while (Date.now() < end); return 1; }',
    kos: 40,
    clients: 3,
    milliseconds: 4000,
  },
  {
    name: 'what fills the log',
    code: 'const line = "\\u001b[31m\\n".repeat(1000); function run() { for (let i = 0; i < 100; i++) console.log(line); return 1; }',
    kos: 20,
    clients: 2,
    milliseconds: 4000,
  },
  {
    name: 'what keeps 88 MB',
    code: 'const kept = []; function run() { if (kept.length < 88) for (let i = 0; i < 22; i++) kept.push(new Uint8Array(2 ** 20).fill(1)); return 1; }',
    kos: 9,
    clients: 1,
    milliseconds: 1500,
    isServed: true,
  },
  {
    name: 'what leaves objects behind that call back when they are gone',
    code: 'const r = new FinalizationRegistry(() => { for (;;); }); function run() { for (let i = 0; i < 2000; i++) r.register(new Array(50), i); return 1; }',
    kos: 6,
    clients: 1,
    milliseconds: 3000,
    isServed: true,
  },
];

for (const { name, code, kos: count, clients, milliseconds, isServed = false } of loads) {
  test(`many clients of ${name}`, async (t) => {
    const naan = uniqueNaan();
    const well = wellBehavedKo(naan);
    const kos = Array.from({ length: count }, (_, i) => javascriptKo(code, { naan, name: `load${i}` }));
    await using shelf = await temporaryFolder();
    for (const ko of [well, ...kos]) await explode(ko, shelf.path, ko.name);
    await using service = await startService({ shelf: shelf.path, args: ['--execution-timeout', `${LIMIT}ms`] });
    for (let i = 0; i < 50; i++) await service.post(pathOf(well), { a: 1, b: 2, words: ['x'] });
    const before = await restingFootprintOf(service.pid);
    {
      using companion = new Companion(service, well);
      const until = Date.now() + milliseconds;
      const answers: { answer: Answer; began: number; took: number }[] = [];
      const client = async (path: string): Promise<void> => {
        while (Date.now() < until) {
          const began = Date.now();
          const answer = await service.post(path, {});
          answers.push({ answer, began, took: Date.now() - began });
        }
      };
      await Promise.all(kos.flatMap((ko) => Array.from({ length: clients }, () => client(pathOf(ko)))));
      await t.test('gets its own answers in time', () => {
        for (const { answer, began, took } of answers) {
          assert.ok(answer.status === 200 || (!isServed && answer.status === 503), answer.text);
          const allowed = LIMIT + companion.pace.allowed(GRACE, began, took);
          assert.ok(took <= allowed, `an answer after ${took} ms; allowed are ${allowed}`);
        }
        assert.ok(answers.some(({ answer }) => answer.status === 200));
      });
      await t.test('others are answered right and in time meanwhile', () => companion.assertUndisturbed());
    }
    await t.test('afterwards the service is where it was', () =>
      assertBackTo(before, service.pid, { treeMemory: 200 * MEGABYTE }),
    );
  });
}
