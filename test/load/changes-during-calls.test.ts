/** "A request that started on version A finishes on version A while A is replaced or deleted." */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { assertBackTo, restingFootprintOf } from '../hostile/support/footprint.ts';

const service = await startService();
after(() => service[Symbol.asyncDispose]());
const naan = uniqueNaan();

/** Takes `input` milliseconds and names its version in several ways. */
const version = (name: string, letter: string, helper = `${naan}/helper/1.0/run`): Ko =>
  javascriptKo(
    `function run(ms) {
      const end = Date.now() + ms;
      while (Date.now() < end);
      const helper = context.getExecutor("${helper}");
      return ["${letter}", helper && helper.execute(null)];
    }`,
    { naan, name, metadata: { title: letter } },
  );
const helper = (letter: string): Ko =>
  javascriptKo(`function run() { return "helper ${letter}"; }`, { naan, name: 'helper' });

/** Calls that take long enough to meet every change, on several processes and in line. */
async function callDuring(ko: Ko, change: () => Promise<void>): Promise<unknown[]> {
  const calls = [700, 700, 300, 5, 5].map((ms) => service.post(pathOf(ko), ms));
  await later(150);
  await change();
  return (await Promise.all(calls)).map((answer) => {
    assert.equal(answer.status, 200, answer.text);
    const { result, info } = answer.object as { result: unknown[]; info: { ko: { title: string } } };
    assert.equal(result[0], info.ko.title, 'code and metadata are of one version');
    return result;
  });
}

test('calls end on the version that they began on', async (t) => {
  await service.serve(helper('one'), version('ko', 'A'));
  await service.post(pathOf(version('ko', 'A')), 0);
  const before = await restingFootprintOf(service.pid);

  await t.test('while it is replaced', async () => {
    const results = await callDuring(version('ko', 'A'), () => service.serve(version('ko', 'B')));
    for (const result of results) assert.deepEqual(result, ['A', 'helper one']);
    const next = await service.post(pathOf(version('ko', 'B')), 0);
    assert.deepEqual(next.object['result'], ['B', 'helper one']);
  });

  await t.test('while what it calls is replaced', async () => {
    const results = await callDuring(version('ko', 'B'), () => service.serve(helper('two')));
    for (const result of results) assert.deepEqual(result, ['B', 'helper one']);
    const next = await service.post(pathOf(version('ko', 'B')), 0);
    assert.deepEqual(next.object['result'], ['B', 'helper two']);
  });

  await t.test('while all is reloaded and activated again', async () => {
    const results = await callDuring(version('ko', 'B'), async () => {
      for (const path of ['reload', 'refresh', 'refresh/javascript']) await service.get(`/actuator/activation/${path}`);
    });
    for (const result of results) assert.deepEqual(result, ['B', 'helper two']);
  });

  await t.test('while it is deleted', async () => {
    const ko = version('ko', 'B');
    const results = await callDuring(ko, async () => {
      assert.equal((await service.delete(`/kos/${ko.id}`)).status, 204);
      await service.get('/actuator/activation/refresh');
      assert.equal((await service.post(pathOf(ko), 0)).status, 404, 'the next one');
    });
    for (const result of results) assert.deepEqual(result, ['B', 'helper two']);
  });

  await t.test('and what was replaced is given up', () => assertBackTo(before, service.pid));
});
