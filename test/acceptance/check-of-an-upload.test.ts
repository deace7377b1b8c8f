/** What is wrong with a package, and what it would change, is told before it replaces anything. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json } from '../documents/support/sent.ts';
import { upload } from './support/client.ts';
import { javascriptKo, uniqueNaan, zipOf } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const naan = uniqueNaan();
const check = async (zip: Buffer, field?: string) => service.send('POST', '/actuator/check', upload(zip, field));
const found = (answer: { object: Record<string, unknown> }) =>
  answer.object['findings'] as { severity: string; file: string; line?: number; message: string }[];

const WORKED =
  '- { name: It gives what it gets, endpoint: /run, input: 1, expect: 2 }\n- { name: It ends, endpoint: /run, input: "loop", expect: 1 }\n';
const of = (code: string, files: Ko['files'] = {}): Ko =>
  javascriptKo(code, { naan, name: 'checked', files, deployment: { timeout: 200 } });

test('a package is checked without being taken in: what is wrong with it, and in what it differs', async () => {
  const present = of('function run(input) { return input; }', { 'old.txt': 'x', 'same.txt': 'y' });
  await service.serve(present);
  const records = (await service.get('/actuator/audit?limit=1000')).list.length;
  const digest = String((await service.get(`/kos/${present.id}`)).headers['kgrid-package-digest']);
  const steering = '\u202e\u009b31m';
  const next = of(
    `function run(input) { if (input === 'loop') for (;;); throw new Error(${JSON.stringify(steering)}); }`,
    {
      'same.txt': 'y',
      'new.txt': 'z',
      'worked-examples.yaml': WORKED,
    },
  );
  const answer = await check(await zipOf(next.files));
  assert.equal(answer.status, 200, answer.text);
  assert.doesNotMatch(answer.text, /[\p{Cc}\p{Cf}]/u);
  const { findings, digest: own, ...rest } = answer.object;
  assert.deepEqual(rest, {
    ...{ ko: present.id, present: { digest }, ok: false, generation: 1, untried: [] },
    examples: { passed: 0, failed: 2, notRun: 0 },
    differences: [
      { path: 'new.txt', change: 'added' },
      { path: 'old.txt', change: 'removed' },
      { path: 'src/index.js', change: 'changed' },
      { path: 'worked-examples.yaml', change: 'added' },
    ],
  });
  const problems = found(answer).filter(({ severity }) => severity === 'problem');
  assert.deepEqual(
    problems.map(({ file, line }) => [file, line]),
    [
      ['worked-examples.yaml', 1],
      ['worked-examples.yaml', 2],
    ],
    JSON.stringify(findings),
  );
  assert.match(problems[1]?.message ?? '', /no result within the limit of 0\.2 s/);
  // Nothing of it is there, and nobody is told that it was.
  assert.equal((await service.get(`/kos/${present.id}`)).headers['kgrid-package-digest'], digest);
  assert.equal((await service.get('/actuator/audit?limit=1000')).list.length, records);
  await service.add(next);
  assert.equal((await service.get(`/kos/${present.id}`)).headers['kgrid-package-digest'], own);
});

test('what no import takes is told as its finding, and nothing of it is run', async () => {
  const bomb = await zipOf({ ...of('').files, 'large.bin': Buffer.alloc(101 * 2 ** 20) });
  assert.ok(bomb.length < 2 ** 20);
  for (const [zip, words] of [
    [bomb, /large\.bin.* 100 MB/],
    [Buffer.from('no zip'), /zip/],
    [await zipOf({ 'a.txt': 'a' }), /metadata\.json/],
  ] as const) {
    const answer = await check(zip);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([answer.object['ko'], answer.object['digest'], answer.object['ok']], [null, null, false]);
    assert.equal(found(answer).length, 1);
    assert.match(String(found(answer)[0]?.message), words);
  }
});

test('a form that is none is refused', async () => {
  assert.equal((await check(Buffer.from('x'), 'other')).status, 400);
  assert.equal((await service.send('POST', '/actuator/check', json({}))).status, 415);
  assert.equal((await service.get('/actuator/check')).status, 405);
});
