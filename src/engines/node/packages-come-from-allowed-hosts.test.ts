/** npm asks its registry and hosts that the operator allowed, whatever a knowledge object and its packages name. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { packed, TestRegistry } from '../../../runtimes/node/test/registry.ts';
import { EngineHost } from '../../../test/conformance/engine-host.ts';
import type { Artifacts } from '../../../test/conformance/engine-host.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { managedWorkers } from '../../../test/conformance/workers-host.ts';
import { Network } from '../network/network.ts';
import { findKernel } from '../../confinement/find-kernel.ts';

const folder = await temporaryFolder();
after(() => folder[Symbol.asyncDispose]());
const registry = await TestRegistry.start();
after(() => registry[Symbol.asyncDispose]());
await registry.publish('tiny', '1.0.0', 'module.exports = "of the registry";');

/** Another host, which nobody may reach without being allowed to. */
const asked: string[] = [];
const archive = await packed({ name: 'tiny', version: '1.0.0' }, 'module.exports = "of another host";');
const elsewhere = createServer(({ url = '' }, response) => {
  asked.push(url);
  if (url === '/away.tgz') response.writeHead(302, { location: `http://localhost:${port}/tiny.tgz` }).end();
  else response.end(archive);
});
elsewhere.listen(0, '127.0.0.1');
await once(elsewhere, 'listening');
after(() => elsewhere.close());
const { port } = elsewhere.address() as AddressInfo;
const there = `http://127.0.0.1:${port}/tiny.tgz`;

const environment = { PATH: process.env['PATH'], HOME: folder.path, ...registry.settings };
const silent = { warn: () => undefined };
const permission = { any: false, hosts: [{ host: '127.0.0.1', port }], ports: [] };
const anyPublic = { any: true, hosts: [], ports: [] };
const network = new Network({
  permissions: new Map([
    ['hosts/allowed', permission],
    ['hosts/public', anyPublic],
  ]),
  environment: {},
  isWalled: () => true,
  log: silent,
});
const cache = join(folder.path, 'cache');
const host = new EngineHost(
  await managedWorkers('node', { cache, kernel: await findKernel('require'), environment, network }),
);
after(() => host[Symbol.asyncDispose]());

const needs = (dependencies: object, more: Artifacts['files'] = {}): Artifacts['files'] => ({
  'src/index.js': "module.exports = () => require('tiny');",
  'package.json': JSON.stringify({ dependencies }),
  ...more,
});

async function resultOf(name: string, files: Artifacts['files']): Promise<unknown> {
  asked.length = 0;
  const id = `hosts/${name}/1.0/run`;
  try {
    await host.activateAs(id, { files, function: '' });
  } catch (thrown) {
    return (thrown as Error).message;
  }
  return host.callFromJavascript(id, null);
}

test('an address that a knowledge object names is not asked, and the refusal says what to do', async () => {
  for (const url of [
    there,
    `HTTP://localhost:${port}/tiny.tgz`,
    `http://2130706433:${port}/x`,
    `http://[::1]:${port}/x`,
  ]) {
    const said = String(await resultOf('refused', needs({ tiny: url })));
    assert.match(
      said,
      /^The dependency tiny of package\.json comes from .*: take it from the registry, or put it into the pac/,
    );
    assert.match(said, /the operator allows it by --allow-network hosts\/refused=/);
    assert.deepEqual(asked, []);
  }
  for (const at of ['127.0.0.1', 'localhost', '169.254.169.254', '10.0.0.1'])
    assert.match(
      String(await resultOf('public', needs({ tiny: `http://${at}:${port}/tiny.tgz` }))),
      /which is this machine, one of its networks or no address of use/,
    );
  assert.deepEqual(asked, []);
});

test('one that the operator allowed is asked, and leads nowhere else', async () => {
  assert.equal(await resultOf('allowed', needs({ tiny: there })), 'of another host');
  const said = String(await resultOf('allowed', needs({ tiny: `http://127.0.0.1:${port}/away.tgz` })));
  assert.match(said, /^Installing packages failed/);
  assert.deepEqual(asked, ['/away.tgz']);
});

test('addresses in lock files are not asked: packages of the registry come from the one that npm is configured for', async () => {
  const lock = registry.lock('tiny', '1.0.0', there);
  for (const name of ['package-lock.json', 'npm-shrinkwrap.json'])
    assert.equal(await resultOf(`locked${name.length}`, needs({ tiny: '*' }, { [name]: lock })), 'of the registry');
  const first = { tiny: { version: '1.0.0', resolved: there, requires: {} }, other: { version: there, dev: true } };
  const old = JSON.stringify({ lockfileVersion: 1, dependencies: first });
  assert.equal(await resultOf('old', needs({ tiny: '*' }, { 'package-lock.json': old })), 'of the registry');
  assert.deepEqual(asked, []);
});

test('packages do not lead npm elsewhere either, be they of the registry or of the knowledge object', async () => {
  const nested = { dependencies: { deep: there } };
  await registry.publish('leads', '1.0.0', '', nested);
  const inFolder = {
    'own/package.json': JSON.stringify({ name: 'own', version: '1.0.0', ...nested }),
    'own/index.js': '',
  };
  const inArchive = { 'own.tgz': await packed({ name: 'own', version: '1.0.0', ...nested }, '') };
  const cases: [dependencies: object, more: Artifacts['files'], said: RegExp][] = [
    [{ leads: '1.0.0' }, {}, /EALLOWREMOTE/],
    [{ own: 'file:own' }, inFolder, /^The dependency deep of own\/package\.json comes from 127\.0\.0\.1: take it/],
    [{ own: 'own.tgz' }, inArchive, /EALLOWREMOTE/],
  ];
  for (const [dependencies, more, said] of cases) {
    assert.match(String(await resultOf('leads', needs(dependencies, more))), said);
    assert.deepEqual(asked, []);
  }
});

test('what the author wrote for his own npm is not for this one', async () => {
  const files = {
    'package.json': JSON.stringify({
      name: '../x',
      dependencies: { tiny: '1.0.0' },
      devDependencies: { absent: there },
      scripts: { preinstall: 'exit 1' },
      config: { registry: there },
      publishConfig: { registry: there },
      engines: { node: '>999' },
    }),
    '.npmrc': `registry=http://127.0.0.1:${port}/\n`,
  };
  assert.equal(await resultOf('plain', needs({}, files)), 'of the registry');
  assert.deepEqual(asked, []);
});

test('two knowledge objects whose archives have one name get their own', async () => {
  for (const each of ['one', 'two']) {
    const files = { 'tiny.tgz': await packed({ name: 'tiny', version: '1.0.0' }, `module.exports = '${each}';`) };
    assert.equal(await resultOf(each, needs({ tiny: 'tiny.tgz' }, files)), each);
  }
});
