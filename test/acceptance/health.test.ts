import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { JsonObject } from './support/client.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, welcomeKo } from './support/ko.ts';
import { PROJECT } from './support/service.ts';
import { theService } from './support/the-service.ts';

const service = await theService();

interface Component {
  readonly status: unknown;
  readonly details?: JsonObject;
}

async function components(): Promise<Record<string, Component>> {
  const answer = await service.get('/actuator/health');
  assert.equal(answer.status, 200);
  assert.equal(answer.object['status'], 'UP');
  return answer.object['components'] as Record<string, Component>;
}

test('health has a status and a component for each part (S-HEALTH-OBJECT, S-HEALTH-GET)', async () => {
  const all = await components();
  for (const [name, component] of Object.entries(all)) {
    assert.ok(component.status === 'UP' || component.status === 'DOWN', name);
  }
  assert.ok('activationService' in all);
  assert.equal((await service.get('/actuator/health')).object['status'], 'UP');
});

test('activationService counts KOs on the shelf and loaded endpoints (S-HEALTH-ACTIVATION)', async () => {
  const details = async (): Promise<JsonObject> => (await components())['activationService']?.details ?? {};
  const before = await details();
  assert.ok(Number.isInteger(before['kos']) && Number.isInteger(before['endpoints']));
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  assert.equal((await details())['kos'], Number(before['kos']) + 1);
  assert.equal((await details())['endpoints'], before['endpoints']);
  await service.reload(ko);
  assert.equal((await details())['endpoints'], Number(before['endpoints']) + 1);
  const failing = javascriptKo('function run( {', { naan: ko.naan, name: 'failing' });
  await service.serve(failing);
  assert.equal((await details())['endpoints'], Number(before['endpoints']) + 2, 'all loaded endpoints count');
});

test('each engine adapter lists its engines, the shelf its type and time (S-HEALTH-ADAPTERS)', async () => {
  const details = Object.values(await components()).map((component) => component.details ?? {});
  const engines = details.flatMap((detail) =>
    Array.isArray(detail['engines']) ? (detail['engines'] as unknown[]) : [],
  );
  assert.ok(engines.includes('javascript') && engines.includes('resource'));
  const shelf = details.find((detail) => 'created' in detail);
  assert.equal(typeof shelf?.['type'], 'string');
  const created = String(shelf?.['created']);
  assert.match(created, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})$/);
  assert.ok(Date.parse(created) <= Date.now());
});

test('a KO that yields no endpoint is among the failures', async () => {
  const naan = uniqueNaan();
  const ko = welcomeKo({ naan, metadata: { hasServiceSpecification: 'service.yaml' } });
  await service.add(ko);
  const answer = await service.put(`/kos/${ko.id}`, { ...ko.metadata, hasDeploymentSpecification: 'gone.yaml' });
  assert.equal(answer.status, 200);
  await service.reload(ko);
  assert.deepEqual(await service.endpoints(naan), []);
  const failures = (await components())['activationService']?.details?.['failures'];
  assert.ok(JSON.stringify(failures).includes(ko.id), JSON.stringify(failures));
  assert.match(JSON.stringify(failures), /gone\.yaml/);
  await service.put(`/kos/${ko.id}`, ko.metadata);
  await service.reload(ko);
  const mended = (await components())['activationService']?.details?.['failures'];
  assert.ok(!JSON.stringify(mended ?? []).includes(ko.id));
});

test('liveness and readiness are only a status', async () => {
  for (const probe of ['liveness', 'readiness']) {
    const answer = await service.get(`/actuator/health/${probe}`);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json, { status: 'UP' });
  }
});

test('info is a map in JSON, or in YAML by Accept (S-INFO-GET)', async () => {
  const json = await service.get('/actuator/info');
  assert.equal(json.status, 200);
  assert.match(String(json.headers['content-type']), /^application\/json/);
  const yaml = await service.get('/actuator/info', { accept: 'application/yaml' });
  assert.equal(yaml.status, 200);
  assert.match(String(yaml.headers['content-type']), /yaml/);
  assert.throws(() => JSON.parse(yaml.text) as unknown);
  assert.deepEqual(Object.keys(parse(yaml.text) as object), Object.keys(json.object));
});

test('info tells version, engines, runtimes, counts, requests and uptime (S-INFO-CONTENT)', async () => {
  const { text } = await service.get('/actuator/info');
  for (const word of ['version', 'engines', 'runtimes', '(kos|knowledgeObjects)', 'endpoints', 'requests', 'uptime']) {
    assert.match(text, new RegExp(`"[^"]*${word}[^"]*"\\s*:`, 'i'), word);
  }
  assert.match(text, /javascript/);
});

test('info counts requests (S-INFO-CONTENT)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const totals = async (): Promise<number[]> =>
    ((await service.get('/actuator/info')).text.match(/\d+/g) ?? []).map(Number);
  const before = await totals();
  for (let i = 0; i < 5; i++) await service.post(pathOf(ko, 'welcome'), { name: 'Ada' });
  const after = await totals();
  assert.ok(
    after.some((n, i) => n >= (before[i] ?? 0) + 5),
    'some total grew by the five executions',
  );
});

test('health and info tell no place, environment or secret (S-INFO-SECRETS)', async () => {
  for (const path of ['/actuator/info', '/actuator/health']) {
    const { text } = await service.get(path);
    assert.ok(!text.includes(PROJECT));
    assert.doesNotMatch(text, /"PATH"|KGRID_|\/tmp\/|\/home\/|\/root\/|password/i, path);
  }
});
