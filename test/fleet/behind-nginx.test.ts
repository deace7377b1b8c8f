/** Three nodes behind nginx, with the file of the folder deploy. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { clientOf, pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { startNginx } from './support/balancers.ts';
import { startFleet } from './support/fleet.ts';
import { assertHeals, saying } from './support/whole.ts';

const fleet = await startFleet(3, { args: ['--trust-proxy', '127.0.0.1'] });
const balancer = await startNginx(fleet.nodes.map(({ url }) => url)).catch(async (thrown: unknown) => {
  await fleet[Symbol.asyncDispose]();
  throw thrown;
});
after(async () => {
  await balancer[Symbol.asyncDispose]();
  await fleet[Symbol.asyncDispose]();
});
const service = clientOf(balancer.url);
const naan = uniqueNaan();

test('each request goes to another node, and a node that was killed costs no request after it', async () => {
  const ko = saying(naan, 'called', 'by any');
  await service.serve(ko);
  const assertAllServe = async (): Promise<void> => {
    for (let i = 0; i < 12; i++) {
      const called = await service.post(pathOf(ko), {});
      assert.equal(called.status, 200, called.text);
      assert.equal((await service.get(`/kos/${ko.id}`)).status, 200);
    }
  };
  await assertAllServe();
  await fleet.node(1).stop('SIGKILL');
  await assertAllServe();
  await fleet.restart(1);
  await assertHeals([service], naan, 'again');
  await assertAllServe();
});
