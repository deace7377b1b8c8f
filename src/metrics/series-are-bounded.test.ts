import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSet } from '../activation/endpoint-set.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { KoName } from '../knowledge-object/id.ts';
import { Executions, Requests } from './measured.ts';

const endpointOf = (name: string, version = 'v1', engine = 'javascript', path = 'run'): Endpoint =>
  ({ name: path, ko: { id: { naan: 'a', name, version } }, entry: { engine } }) as unknown as Endpoint;

/** As far as series ask for it. */
const setOf = (...endpoints: Endpoint[]): EndpointSet =>
  ({
    ofName: ({ naan, name }: KoName) => endpoints.filter(({ ko }) => ko.id.naan === naan && ko.id.name === name),
    ofEngine: (engine: string) => endpoints.filter(({ entry }) => entry.engine === engine),
  }) as unknown as EndpointSet;

/** The labels, with how many were counted. */
const shown = (of: { histograms(): Iterable<[string, { count: number }]> }): string[] =>
  [...of.histograms()].map(([labels, { count }]) => `${labels} ${count}`);
const all = (executions: Executions): string[] => [...executions.series()].flatMap(shown);

const labels = (ko: string, version: string, endpoint: string, outcome = 'done'): string =>
  `{ko="${ko}",version="${version}",endpoint="${endpoint}",engine="javascript",outcome="${outcome}"}`;

test('endpoints beyond the bound count as other, until those before them have gone', () => {
  const executions = new Executions(2);
  const endpoints = Array.from({ length: 1000 }, (_, i) => endpointOf(`k${i}`));
  for (const each of endpoints) for (let i = 0; i < 2; i++) executions.observe(each, 'done', 0.001, 1);
  assert.deepEqual(all(executions), [
    `${labels('a/k0', 'v1', 'run')} 2`,
    `${labels('a/k1', 'v1', 'run')} 2`,
    `${labels('other', 'other', 'other')} 1996`,
  ]);
  executions.keepOnly(setOf(...endpoints.slice(1)));
  for (const each of endpoints.slice(1, 4)) executions.observe(each, 'done', 0.001, 1);
  assert.deepEqual(all(executions), [
    `${labels('a/k1', 'v1', 'run')} 3`,
    `${labels('a/k2', 'v1', 'run')} 1`,
    `${labels('other', 'other', 'other')} 1997`,
  ]);
  executions.keepOnly(setOf());
  assert.deepEqual(all(executions), []);
});

test('with none of its own every endpoint is other', () => {
  const executions = new Executions(0);
  executions.observe(endpointOf('k'), 'overloaded', 0, 1);
  assert.deepEqual(all(executions), [`${labels('other', 'other', 'other', 'overloaded')} 1`]);
});

test('an endpoint that is activated anew goes on where it was, and another version or engine does not', () => {
  const executions = new Executions(10);
  executions.observe(endpointOf('k'), 'done', 1, 1);
  executions.observe(endpointOf('k'), 'done', 1, 4);
  executions.observe(endpointOf('k'), 'execution-failed', 1, 1);
  executions.observe(endpointOf('k', 'v2'), 'done', 1, 1);
  executions.observe(endpointOf('k', 'v1', 'node'), 'done', 1, 1);
  assert.deepEqual(all(executions), [
    `${labels('a/k', 'v1', 'run')} 5`,
    `${labels('a/k', 'v1', 'run', 'execution-failed')} 1`,
    `${labels('a/k', 'v2', 'run')} 1`,
    `${labels('a/k', 'v1', 'run').replace('javascript', 'node')} 1`,
  ]);
  executions.keepOnly(setOf(endpointOf('k', 'v2')));
  assert.deepEqual(all(executions), [`${labels('a/k', 'v2', 'run')} 1`]);
});

test('names of any characters are told apart, or are one series', () => {
  const executions = new Executions(1000);
  const names = ['"', '\\', '\n', '\\n', '\\"', '"}\nevil 1\n', 'x'.repeat(1000), '\ud800'];
  for (const name of [...names, 'x'.repeat(1001), '\udfff']) executions.observe(endpointOf(name), 'done', 0, 1);
  const found = all(executions);
  assert.equal(new Set(found).size, names.length);
  for (const line of found) assert.doesNotMatch(line, /\n/);
});

test('requests count by the pattern of their route and by few methods', () => {
  const requests = new Requests(['GET', 'POST']);
  for (let i = 0; i < 1000; i++) {
    requests.of(undefined, 'GET').observe(404, 0);
    requests.of('/kos', `METHOD${i}`).observe(405, 0);
  }
  requests.of('/kos', 'GET').observe(200, 0);
  assert.deepEqual(shown(requests), [
    '{route="unmatched",method="GET",status="404"} 1000',
    '{route="/kos",method="other",status="405"} 1000',
    '{route="/kos",method="GET",status="200"} 1',
  ]);
});
