/** Some examples depend on published packages: this file needs a registry of npm and one of Python. */
import assert from 'node:assert/strict';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { PROJECT, startService, temporaryFolder } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { until } from './support/until.ts';

const EXAMPLES = join(PROJECT, 'examples');
const INSTALLS_WITHIN = 240_000;
const INSTALLERS_READ = /^(home|(npm|pip)_.*|.*_proxy|ssl_cert_.*|node_extra_ca_certs)$/i;

interface Worked {
  readonly name: string;
  readonly endpoint: string;
  readonly input?: unknown;
  readonly expect?: unknown;
  readonly tolerance?: number;
  readonly expectError?: string;
}

/** Of an object the keys given, of a list every element, numbers within the tolerance. */
function assertHolds(actual: unknown, expected: unknown, tolerance: number, where: string): void {
  if (typeof expected === 'number') {
    assert.ok(Math.abs(Number(actual) - expected) <= tolerance, `${where}: ${String(actual)} is not ${expected}`);
  } else if (typeof expected === 'object' && expected !== null) {
    assert.ok(typeof actual === 'object' && actual !== null, `${where}: ${JSON.stringify(actual)}`);
    if (Array.isArray(expected)) assert.equal((actual as unknown[]).length, expected.length, where);
    for (const [key, each] of Object.entries(expected)) {
      assertHolds((actual as Record<string, unknown>)[key], each, tolerance, `${where}.${key}`);
    }
  } else assert.deepEqual(actual, expected, where);
}

/** What npm and pip find in the environment of whoever starts the service. */
const installers = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => INSTALLERS_READ.test(entry[0]) && entry[1] !== undefined,
    ),
  );

async function workedExamplesOf(service: OwnService, folder: string, id: string): Promise<number> {
  const examples = parse(await readFile(join(EXAMPLES, folder, 'worked-examples.yaml'), 'utf8')) as Worked[];
  for (const { name, endpoint, input, expect, tolerance = 0, expectError } of examples) {
    const where = `${folder}: ${name}`;
    const answer = await service.post(`/${id}${endpoint}`, JSON.stringify(input));
    if (expectError === undefined) {
      assert.equal(answer.status, 200, `${where}: ${answer.text}`);
      assertHolds(answer.object['result'], expect, tolerance, where);
    } else {
      assert.equal(answer.status, 500, where);
      assert.ok(String(answer.object['Detail']).includes(expectError), `${where}: ${answer.text}`);
    }
  }
  return examples.length;
}

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
  for (const engine of ['node', 'python']) {
    for (const endpoint of (await service.get(`/endpoints/${engine}`)).list) {
      assert.equal(endpoint['status'], 'ACTIVATED', JSON.stringify(endpoint));
      const key = String(endpoint['knowledgeObject']).replace('/kos/', '').replaceAll('/', '-');
      const folderName = remote.find((name) => name === key);
      assert.ok(folderName !== undefined, key);
      const [naan = '', name = '', apiVersion = ''] = String(endpoint['@id']).split('/');
      calls += await workedExamplesOf(service, folderName, `${naan}/${name}/${apiVersion}`);
    }
  }
  assert.ok(calls >= 15, `${calls} calls`);
});
