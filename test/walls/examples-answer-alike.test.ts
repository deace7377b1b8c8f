/** Some examples depend on published packages: this file needs a registry of npm and one of Python. */
import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { test } from 'node:test';
import { addressOfEndpoint, exampleFolders, EXAMPLES, placeOfEndpoint } from '../acceptance/support/examples.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { assertWorkedExamples } from '../acceptance/support/worked-examples.ts';
import { installers } from '../runtimes/support/installers.ts';
import { until } from '../runtimes/support/until.ts';

const INSTALLS_WITHIN = 240_000;
const BROKEN = 'demo/broken';

for (const walls of ['require', 'off']) {
  test(`every example is active and gives its published worked values: --walls ${walls}`, async () => {
    await using shelf = await temporaryFolder();
    await cp(EXAMPLES, shelf.path, { recursive: true });
    await using service = await startService({
      shelf: shelf.path,
      args: ['--runtimes', 'node,python', '--walls', walls],
      env: installers(),
    });
    const folders = await exampleFolders();
    const endpoints = await until(
      'all are decided',
      async () => {
        const { list } = await service.get('/endpoints');
        return list.some((each) => each['status'] === 'LOADED') ? undefined : list;
      },
      INSTALLS_WITHIN,
    );
    const called = new Set<string>();
    let calls = 0;
    for (const endpoint of endpoints) {
      const place = placeOfEndpoint(endpoint);
      if (!place.startsWith(BROKEN)) assert.equal(endpoint['status'], 'ACTIVATED', JSON.stringify(endpoint));
      // Once for all endpoints of a version.
      if (called.size === called.add(place).size) continue;
      calls += await assertWorkedExamples(service, folders.get(place) ?? '', addressOfEndpoint(endpoint));
    }
    assert.ok(calls > 60, `${calls} calls`);
  });
}
