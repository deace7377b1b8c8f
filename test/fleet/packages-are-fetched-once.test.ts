/** "Nodes share what installations fetched": a registry is asked once for all of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestRegistry } from '../../runtimes/node/test/registry.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { PackageIndex } from '../runtimes/support/package-index.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { until } from '../runtimes/support/until.ts';
import { startFleet } from './support/fleet.ts';

const naan = uniqueNaan();
const inNode = runtimeKo({
  ...{ naan, name: 'innode', engine: 'node' },
  code: {
    'src/index.js': 'const { greet } = require("greets");\nmodule.exports = { run: ({ name }) => greet(name) };\n',
    'src/package.json': JSON.stringify({ dependencies: { greets: '^1.0.0' } }),
  },
});
const inPython = runtimeKo({
  ...{ naan, name: 'inpython', engine: 'python' },
  code: {
    'src/main.py': 'import greets\n\ndef run(person):\n    return greets.greet(person["name"])\n',
    'requirements.txt': 'greets>=1.0\n',
  },
});

const answers = (node: OwnService, ko: Ko): Promise<unknown> =>
  until('it answers', async () => {
    const answer = await node.post(pathOf(ko), { name: 'Ada' });
    return answer.status === 200 ? answer.object['result'] : undefined;
  });

test('what one node fetched is installed by the others without the registry, also by one that comes later', async () => {
  await using registry = await TestRegistry.start();
  await registry.publish('hello', '1.0.0', 'exports.hello = "Hello";');
  await registry.publish('greets', '1.0.0', 'exports.greet = (name) => `${require("hello").hello} ${name}`;', {
    dependencies: { hello: '1' },
  });
  await using index = await PackageIndex.start();
  const env = { ...registry.settings, ...index.settings };
  await using fleet = await startFleet(2, { args: ['--runtimes', 'node,python'], env });
  await fleet.node(0).add(inNode, inPython);
  assert.equal((await fleet.node(0).get('/actuator/reload')).status, 303);
  for (const node of fleet.nodes)
    for (const ko of [inNode, inPython]) assert.equal(await answers(node, ko), 'Hello Ada', ko.name);
  const archives = (): string[] =>
    [...registry.requests, ...index.requests].filter((path) => /\.(?:tgz|whl)$/.test(path));
  assert.deepEqual(archives().sort(), ['/greets-1.0-py3-none-any.whl', 'greets/-/1.0.0.tgz', 'hello/-/1.0.0.tgz']);

  await registry[Symbol.asyncDispose]();
  await index[Symbol.asyncDispose]();
  const late = await fleet.add();
  for (const ko of [inNode, inPython]) assert.equal(await answers(late, ko), 'Hello Ada', ko.name);
});

test('a node that is killed while it fetches holds up the others for seconds, and they fetch', async () => {
  await using registry = await TestRegistry.start();
  await registry.publish('greets', '1.0.0', 'exports.greet = (name) => `Hello ${name}`;');
  const isFetched = Promise.withResolvers<void>();
  registry.gate = isFetched.promise;
  await using fleet = await startFleet(2, { args: ['--runtimes', 'node'], env: registry.settings });
  await fleet.node(0).add(inNode);
  const reloaded = fleet
    .node(0)
    .get('/actuator/reload')
    .catch(() => undefined);
  await until('one node fetches', () =>
    Promise.resolve(registry.requests.some((path) => path.endsWith('.tgz')) || undefined),
  );
  const { rows } = { rows: await fleet.database.run(`SELECT holder FROM kgrid.lease WHERE name LIKE 'fetch node %'`) };
  const nodes = await fleet.database.run('SELECT id, address FROM kgrid.node');
  const holder = nodes.find(({ id }) => id === rows[0]?.['holder'])?.['address'];
  const [first, second] = [...fleet.nodes].sort((a, b) => Number(b.url === holder) - Number(a.url === holder));
  assert.ok(first !== undefined && second !== undefined && first.url === holder, String(holder));
  await first.stop('SIGKILL');
  isFetched.resolve();
  await reloaded;
  assert.equal(await answers(second, inNode), 'Hello Ada');
});
