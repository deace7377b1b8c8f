/** A package registry and an index that are away when knowledge objects are activated, and come back. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { TestRegistry } from '../../runtimes/node/test/registry.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { PackageIndex } from './support/package-index.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { until } from './support/until.ts';

const naan = uniqueNaan();

async function portNobodyHas(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('packages that could not be fetched are installed once the registry is back, and the service says so meanwhile', async () => {
  const [registryPort, indexPort] = [await portNobodyHas(), await portNobodyHas()];
  await using service = await startService({
    args: ['--runtimes', 'node,python'],
    env: {
      npm_config_registry: `http://127.0.0.1:${registryPort}/`,
      npm_config_fetch_retries: '0',
      PIP_CONFIG_FILE: '/dev/null',
      PIP_INDEX_URL: `http://127.0.0.1:${indexPort}/simple`,
      PIP_RETRIES: '1',
    },
  });
  const inNode = runtimeKo({
    ...{ naan, name: 'innode', engine: 'node' },
    code: {
      'src/index.js': 'const { greet } = require("greets");\nmodule.exports = { run: ({ name }) => greet(name) };\n',
      'src/package.json': JSON.stringify({ dependencies: { greets: '1.0.0' } }),
    },
  });
  const inPython = runtimeKo({
    ...{ naan, name: 'inpython', engine: 'python' },
    code: {
      'src/main.py': 'import greets\n\ndef run(person):\n    return greets.greet(person["name"])\n',
      'requirements.txt': 'greets==1.0\n',
    },
  });
  const kos = [inNode, inPython];
  await service.add(...kos);
  await service.get('/actuator/reload');
  for (const { id, name } of kos) {
    const line = await service.logged(({ event, ko }) => event === 'activation-failed' && ko === id);
    assert.match(String(line['triedAgainAt']), /^\d{4}-/, `${name}: ${String(line['reason'])}`);
    const { components } = (await service.get('/actuator/health')).object as {
      components: { activationService: { details: { failures: Record<string, unknown>[] } } };
    };
    const told = components.activationService.details.failures.find((each) => each['knowledgeObject'] === id);
    assert.match(String(told?.['triedAgainAt']), /^\d{4}-/, name);
    assert.equal((await service.post(pathOf({ ...inNode, name }), { name: 'Ada' })).status, 404);
  }
  const metrics = (await service.get('/actuator/prometheus')).text;
  for (const engine of ['node', 'python'])
    assert.match(metrics, new RegExp(`^kgrid_endpoints_tried_again\\{engine="${engine}"\\} 1$`, 'm'));

  await using back = new AsyncDisposableStack();
  const registry = back.use(await TestRegistry.start(registryPort));
  await registry.publish('greets', '1.0.0', 'exports.greet = (name) => `Hello ${name}`;');
  back.use(await PackageIndex.start(indexPort));
  for (const ko of kos) {
    await service.logged(({ event, ko: of }) => event === 'activated-later' && of === ko.id);
    const answer = await until('it answers', async () => (await service.post(pathOf(ko), { name: 'Ada' })).object);
    assert.equal(answer['result'], 'Hello Ada', ko.name);
    assert.equal((await service.get(`/endpoints${pathOf(ko)}`)).object['status'], 'ACTIVATED');
  }
  assert.deepEqual(await service.stop(), { code: 0, signal: null });
  const stopping = service.log.findIndex(({ event }) => event === 'stopping');
  const warnings = service.log.slice(stopping).filter(({ level }) => level !== 'info');
  assert.deepEqual(warnings, [], 'a stop that ends its workers is nothing to look into');
});
