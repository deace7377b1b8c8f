/** A real Prometheus asks the service under load; all that `deploy` has for it is run there. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { FAMILIES } from '../../src/metrics/families.ts';
import type { Family } from '../../src/metrics/families.ts';
import { theService } from '../acceptance/support/the-service.ts';
import { alertRules, panelExpressions, RULES } from './support/expressions.ts';
import { loadOn } from './support/load.ts';
import { promtool, startPrometheus } from './support/prometheus.ts';

const service = await theService();
const load = await loadOn(service);
await load.round();
const prometheus = await startPrometheus({
  target: service.url,
  rules: [RULES],
  interval: '1s',
});
after(() => prometheus[Symbol.asyncDispose]());

/** Scrapes, so that rates are there. */
const SCRAPES = 20;
const MOST_ROUNDS = 40;
for (;;) {
  await load.round();
  const count = await prometheus.until('max(count_over_time(up{job="kgrid"}[5m]))');
  if (Number(count[0]?.value[1]) >= SCRAPES) break;
}

test('promtool finds nothing to say of the text', async () => {
  const { text } = await service.get('/actuator/prometheus');
  assert.deepEqual(promtool(['check', 'metrics'], text), { status: 0, said: '' });
});

test('Prometheus takes every sample, and has every series with its type', async () => {
  assert.equal((await prometheus.query('min_over_time(up{job="kgrid"}[5m])'))[0]?.value[1], '1');
  // Those of a fleet are there where it is one.
  const families: readonly Family[] = Object.values(FAMILIES).filter(({ name }) => !name.startsWith('kgrid_fleet_'));
  const missing: string[] = [];
  for (const { name, type } of families) {
    const found = await prometheus.query(`{__name__="${name}${type === 'histogram' ? '_count' : ''}"}`);
    if (found.length === 0) missing.push(name);
  }
  assert.deepEqual(missing, []);
});

test('every alert and every panel can be asked, and every panel shows something', async () => {
  for (const { alert, expr } of alertRules())
    await assert.doesNotReject(prometheus.query(expr), (thrown) => assert.fail(`${alert}: ${String(thrown)}`));
  const empty: string[] = [];
  for (const { title, expr } of panelExpressions())
    if ((await prometheus.query(expr)).length === 0) empty.push(`${title}: ${expr}`);
  assert.deepEqual(empty, []);
});

test('Prometheus has run the rules, and what fails under the load is among what they look for', async () => {
  let rules = await prometheus.rules();
  while (rules.some(({ health }) => health === 'unknown')) {
    await prometheus.until('up');
    rules = await prometheus.rules();
  }
  assert.equal(rules.length, alertRules().length);
  for (const { name, health, lastError } of rules) assert.equal(health, 'ok', `${name}: ${lastError}`);
  const named = new Map(alertRules().map(({ alert, expr }) => [alert, expr]));
  for (const alert of [
    'KgridEndpointFails',
    'KgridServerErrors',
    'KgridEndpointsNotActive',
    'KgridActivationFails',
    'KgridEndpointGetsBadInput',
  ]) {
    const isFound = async (): Promise<boolean> => (await prometheus.query(named.get(alert) ?? '')).length > 0;
    // What was counted before the first scrape is in no rate.
    for (let rounds = 0; rounds < MOST_ROUNDS && !(await isFound()); rounds++) await load.round();
    assert.ok(await isFound(), alert);
  }
});

test('which bytes gave the answers can be asked', async () => {
  const [code] = load.kos;
  const found = await prometheus.query(
    `kgrid_executions_total{outcome="done"} * on (job, instance, ko, version) group_left (digest) kgrid_ko_info`,
  );
  const digest = String((await service.post(`/${code?.naan}/code/1.0/run`, {})).headers['kgrid-package-digest']);
  assert.ok(found.some(({ metric }) => metric['ko'] === `${code?.naan}/code` && metric['digest'] === digest));
});
