/** Some examples depend on published packages: this file needs a registry of npm and one of Python. */
import assert from 'node:assert/strict';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { RUNTIME_NAMES } from '../../src/engines/table.ts';
import { PROJECT, startService, temporaryFolder } from '../acceptance/support/service.ts';
import { assertWorkedExamples } from '../acceptance/support/worked-examples.ts';
import { until } from './support/until.ts';

const EXAMPLES = join(PROJECT, 'examples');
const INSTALLS_WITHIN = 240_000;
const INSTALLERS_READ = /^(home|(npm|pip)_.*|.*_proxy|ssl_cert_.*|node_extra_ca_certs)$/i;

/** What npm and pip find in the environment of whoever starts the service. */
const installers = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => INSTALLERS_READ.test(entry[0]) && entry[1] !== undefined,
    ),
  );

test('the node and python examples are activated and give their published worked values', async () => {
  await using folder = await temporaryFolder();
  const remote: string[] = [];
  for (const name of await readdir(EXAMPLES)) {
    if (!name.includes('-')) continue;
    await cp(join(EXAMPLES, name), join(folder.path, name), { recursive: true });
    const deployment = await readFile(join(EXAMPLES, name, 'deployment.yaml'), 'utf8');
    if (/engine: (node|python)\b/.test(deployment)) remote.push(name);
  }
  assert.ok(remote.length >= 4, remote.join());
  await using service = await startService({
    shelf: folder.path,
    args: ['--runtimes', 'node,python'],
    env: installers(),
  });
  await until(
    'all are decided',
    async () => {
      const endpoints = (await service.get('/endpoints')).list;
      return endpoints.some((each) => each['status'] === 'LOADED') ? undefined : true;
    },
    INSTALLS_WITHIN,
  );
  let calls = 0;
  for (const engine of RUNTIME_NAMES) {
    for (const endpoint of (await service.get(`/endpoints/${engine}`)).list) {
      assert.equal(endpoint['status'], 'ACTIVATED', JSON.stringify(endpoint));
      const key = String(endpoint['knowledgeObject']).replace('/kos/', '').replaceAll('/', '-');
      const folderName = remote.find((name) => name === key);
      assert.ok(folderName !== undefined, key);
      const [naan = '', name = '', apiVersion = ''] = String(endpoint['@id']).split('/');
      calls += await assertWorkedExamples(service, join(EXAMPLES, folderName), `${naan}/${name}/${apiVersion}`);
    }
  }
  assert.ok(calls >= 15, `${calls} calls`);
});
