/** The runtimes that come with the service tell it every 30 s that they are there; nothing is to be read of that. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../acceptance/support/service.ts';
import { until } from './support/until.ts';

const MANY = 20;

test('heartbeats of the own runtimes leave no audit line', async () => {
  await using service = await startService({
    args: ['--runtimes', 'node,python'],
    env: { KGRID_PROXY_HEARTBEAT_INTERVAL: '0.1' },
  });
  const registered = () => service.log.filter(({ audit, action }) => audit === true && action === 'register').length;
  await until('both have registered', () => (registered() === 2 ? true : undefined));
  const requests = async (): Promise<number> =>
    ((await service.get('/actuator/info')).object['totals'] as { requests: number }).requests;
  const before = await requests();
  const lines = service.log.length;
  let asked = 0;
  await until('there were many heartbeats', async () =>
    (await requests()) - before - ++asked >= MANY ? true : undefined,
  );
  // Its line comes after those of the heartbeats.
  await service.get('/actuator/refresh/nobody');
  const last = await service.logged(({ subject }) => subject === 'nobody');
  assert.deepEqual(
    service.log.slice(lines, service.log.indexOf(last)).filter(({ audit }) => audit === true),
    [],
  );
});
