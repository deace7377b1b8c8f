/** A second start of the real service: what an earlier one saw to load is taken as active, and read when it is called. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { pathOf } from '../../test/acceptance/support/knowledge-grid.ts';
import { javascriptKo } from '../../test/acceptance/support/ko.ts';
import type { Ko } from '../../test/acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../../test/acceptance/support/service.ts';
import type { OwnService } from '../../test/acceptance/support/service.ts';
import { objectOf } from '../../test/support/stored-packages.ts';

/** A call that gets no turn within this time is refused: on a busy machine that says nothing. */
const PATIENT = ['--execution-timeout', '60s'];

/** Its top level says that it runs. */
const ko = (name: string, body: string): Ko =>
  javascriptKo(`console.log('loads'); function run(input) { ${body} }`, { naan: 'a', name });
const result = async (service: OwnService, { id }: Ko): Promise<unknown> => {
  const answer = await service.post(pathOf(javascriptKo('', { naan: 'a', name: id.split('/')[1] ?? '' })), {});
  return answer.object['result'];
};
/** The KOs whose top level ran, as often as it did. */
const loads = (service: OwnService): unknown[] =>
  service.log.flatMap((line) => (line['console'] === true ? [line['ko']] : []));
const statuses = async (service: OwnService): Promise<unknown> =>
  Object.fromEntries((await service.endpoints('a')).map((each) => [String(each['@id']).split('/')[1], each['status']]));

/** What a first start leaves behind. */
async function startOnce(shelf: string, ...kos: readonly Ko[]): Promise<void> {
  {
    await using empty = await startService({ shelf, args: PATIENT });
    await empty.add(...kos);
  }
  await using first = await startService({ shelf, args: PATIENT });
  assert.deepEqual(loads(first).sort(), kos.map(({ id }) => id).sort(), 'each is loaded once');
}

test('a second start runs no code that is known to load before somebody calls it', async () => {
  await using folder = await temporaryFolder();
  const callsOther = `return context.getExecutor('a/callee/1.0/run').execute({}) + 1;`;
  const [callee, caller, idle] = [ko('callee', 'return 1;'), ko('caller', callsOther), ko('idle', '')];
  const broken = javascriptKo(`console.log('loads'); throw new Error('it is broken');`, { naan: 'a', name: 'broken' });
  await startOnce(folder.path, callee, caller, idle, broken);

  await using second = await startService({ shelf: folder.path, args: PATIENT });
  const ACTIVATED = { callee: 'ACTIVATED', caller: 'ACTIVATED', idle: 'ACTIVATED' };
  assert.deepEqual(await statuses(second), { ...ACTIVATED, broken: 'FAILED_TO_ACTIVATE' });
  assert.deepEqual(loads(second), [broken.id], 'what failed is tried again');
  assert.equal(await result(second, caller), 2, 'code is loaded for calls of other knowledge objects too');
  assert.equal(await result(second, caller), 2);
  assert.equal(await result(second, callee), 1);
  assert.ok(!loads(second).includes(idle.id), 'nobody called it');

  assert.equal((await second.get('/actuator/activation/refresh')).status, 303);
  assert.equal(await result(second, caller), 2);
});

test('a file that was damaged meanwhile is found without a call, and only its knowledge object ends', async () => {
  await using folder = await temporaryFolder();
  const [good, damaged] = [ko('good', 'return 1;'), ko('damaged', 'return 2;')];
  await startOnce(folder.path, good, damaged);
  const file = objectOf(folder.path, damaged.id, 'src/index.js');
  await writeFile(file, (await readFile(file, 'utf8')).replace('return 2', 'return 3'));

  await using second = await startService({ shelf: folder.path, args: PATIENT });
  await second.logged((line) => line['event'] === 'activation-failed' && line['ko'] === damaged.id);
  assert.deepEqual(await statuses(second), { good: 'ACTIVATED' });
  assert.equal(await result(second, good), 1);
  assert.equal(await result(second, damaged), undefined);
});
