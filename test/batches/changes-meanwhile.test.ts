/** What happens around a batch while it runs. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { javascriptKo } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { until } from '../runtimes/support/until.ts';
import { promised } from '../support/promised.ts';
import { inRound } from '../support/round.ts';
import { linesOf, NDJSON, openBatch, readAnswer, sendBatch } from './support/batch-client.ts';
import { naan, numbers, path, results, theBatchService, well } from './support/well.ts';

const service = await theBatchService();
const { url } = service;
const credentials = 'kim:a password of the test';
/** In the secure profile with closed execution; the last of its tests stops it. */
const own = await startService({
  profile: 'secure',
  args: ['--secure-execution'],
  env: { KGRID_USER: 'kim', KGRID_PASSWORD: 'a password of the test' },
  credentials,
});
after(() => own[Symbol.asyncDispose]());
await own.serve(well);

test('a batch ends on what it began with, whatever becomes of its knowledge object', async () => {
  const changes = [
    async (): Promise<void> => void (await service.get(`/actuator/activation/reload/${well.id}`)),
    async (): Promise<void> => {
      const other = javascriptKo('function run() { return "other"; }', { naan, name: 'well' });
      await service.serve(other);
      assert.equal((await service.post(path, 1)).object['result'], 'other');
      await service.serve(well);
    },
    async (): Promise<void> => {
      assert.equal((await service.delete(`/kos/${well.id}`)).status, 204);
      await service.get('/actuator/activation/reload');
      assert.equal((await service.post(path, 1)).status, 404);
    },
  ];
  for (const change of changes) {
    const outgoing = openBatch(url, path);
    const response = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    outgoing.write(numbers(100));
    const [incoming] = await response;
    const answer = readAnswer(incoming);
    await change();
    outgoing.end(numbers(100));
    assert.deepEqual(results(await answer), [...Array(100).keys(), ...Array(100).keys()]);
  }
  await service.serve(well);
});

test('two batches share, and neither waits for the end of the other', async () => {
  const first = openBatch(url, path);
  let [sent, answered, isOver] = [0, 0, false];
  // The first always has more to do, until the second is answered.
  const sendMore = (): void => {
    for (; !isOver && sent < answered + 500; sent++) first.write('{"work":2,"n":1}\n');
  };
  const firstAnswer = (once(first, 'response') as Promise<[IncomingMessage]>).then(([incoming]) => {
    incoming.on('data', (part: Buffer) => {
      answered += part.toString().split('\n').length - 1;
      sendMore();
    });
    return readAnswer(incoming);
  });
  sendMore();
  await until('the first has begun', () => (answered > 0 ? true : undefined));
  const count = inRound(40, 100);
  const second = await sendBatch(url, path, '{"work":2,"n":2}\n'.repeat(count));
  isOver = true;
  first.end();
  assert.equal(second.lines.length, count);
  assert.equal((await firstAnswer).lines.length, sent);
});

test('in the secure profile with closed execution, records need a login', async () => {
  const body = '1\n2\n';
  const refused = await fetch(own.url + path, { method: 'POST', headers: { 'content-type': NDJSON }, body });
  assert.equal(refused.status, 401);
  const taken = await own.send('POST', path, { headers: { 'content-type': NDJSON }, body });
  assert.deepEqual(linesOf(taken.text), [{ result: 1 }, { result: 2 }]);
});

test('at SIGTERM a batch reads no further, gives what it has and breaks off', async () => {
  const outgoing = openBatch(own.url, path, { authorization: `Basic ${btoa(credentials)}` });
  const response = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  outgoing.write(numbers(10));
  const [incoming] = await response;
  let seen = '';
  incoming.on('data', (part: Buffer) => (seen += part.toString()));
  const answer = readAnswer(incoming);
  await until('ten are answered', () => (seen.split('\n').length > 10 ? true : undefined));
  const feeding = setInterval(() => outgoing.write('{"n":10}\n'), 20);
  const began = performance.now();
  const { code } = await own.stop('SIGTERM');
  clearInterval(feeding);
  assert.equal(code, 0);
  assert.ok(performance.now() - began < promised(8000));
  const { isWhole, text } = await answer;
  assert.equal(isWhole, false);
  assert.deepEqual(
    linesOf(text).slice(0, 10),
    [...Array(10).keys()].map((result) => ({ result })),
  );
});

test('the folder of the state holds nothing of batches afterwards', async () => {
  const all = await readdir(service.shelf, { recursive: true });
  assert.deepEqual(
    all.filter((name) => name.includes('answers-')).map((name) => join(service.shelf, name)),
    [],
  );
});
