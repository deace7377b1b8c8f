import assert from 'node:assert/strict';
import { test } from 'node:test';
import { javascriptKo, ko, resourceKo } from '../../test/acceptance/support/ko.ts';
import type { Ko } from '../../test/acceptance/support/ko.ts';
import { ManualEngine, decidedEndpointsOf, endpointsOf } from '../../test/support/in-memory.ts';
import type { Endpoint } from './endpoint.ts';
import { EndpointSet } from './endpoint-set.ts';

const engine = new ManualEngine();
const resources = new ManualEngine({ name: 'resource', method: 'get' });
const code = (name: string, version: string, apiVersion: string): Ko =>
  javascriptKo('', { naan: 'a', name, version, apiVersion });

async function setOf(...kos: Ko[]): Promise<EndpointSet> {
  return new EndpointSet((await Promise.all(kos.map((each) => decidedEndpointsOf(each, engine)))).flat(), []);
}

const idsOf = (endpoints: readonly Endpoint[]): string[] => endpoints.map((each) => each.id);

test('endpoints are ordered by naan, name, natural version and endpoint', async () => {
  const two = ko({
    naan: 'a',
    name: 'b',
    apiVersion: '2.0',
    endpoints: ['/z', '/m'].map((path) => ({ path, deployment: { artifact: 'x.js', engine: 'javascript' } })),
  });
  const kos = [code('c', 'v1', '1.0'), code('b', 'v10', '10.0'), two, javascriptKo('', { naan: 'A', name: 'z' })];
  assert.deepEqual(idsOf((await setOf(...kos)).endpoints), [
    'A/z/1.0/run',
    'a/b/2.0/m',
    'a/b/2.0/z',
    'a/b/10.0/run',
    'a/c/1.0/run',
  ]);
});

test('a knowledge object is found by its @id, in any spelling, and follows each change', async () => {
  const second = (atId: string, version: string): Ko =>
    javascriptKo('', { naan: 'kgrid', name: 'bmi', version, metadata: { '@id': atId, 'koio:kgrid': '2', version } });
  const set = await setOf(second('bmi', 'v1.0'), second('_:bmi', 'v10.0'), code('b', 'v1', '1.0'));
  const keysOf = (from: EndpointSet, atId: string): string[] => from.ofAtId(atId).map(({ ko: each }) => each.key);
  const both = ['kgrid/bmi/v10.0', 'kgrid/bmi/v1.0'];
  for (const atId of ['bmi', '_:bmi', 'bmi/']) assert.deepEqual(keysOf(set, atId), both, atId);
  for (const atId of ['a/b/v1', 'ark:/a/b/v1', 'a/b/v1/']) assert.deepEqual(keysOf(set, atId), ['a/b/v1'], atId);
  for (const atId of ['', 'b', 'a/b', 'kgrid/bmi/v1.0', 'BMI']) assert.deepEqual(keysOf(set, atId), [], atId);

  const name = { naan: 'kgrid', name: 'bmi' };
  const url = 'https://example.org/bmi';
  const renamed = set.with([name], await decidedEndpointsOf(second(url, 'v1.0'), engine), []);
  assert.deepEqual([keysOf(renamed, 'bmi'), keysOf(renamed, url)], [[], ['kgrid/bmi/v1.0']]);
  assert.deepEqual(keysOf(renamed.with([name], [], []), url), []);
  assert.deepEqual(keysOf(set, 'bmi'), both, 'the old set stays what it was');
});

test('a version is an API version first and a KO version else', async () => {
  const set = await setOf(code('b', 'v1', '1.0'), code('b', 'v2', 'v1'));
  assert.equal(set.versioned('a/b/1.0/run')?.ko.id.version, 'v1');
  assert.equal(set.versioned('a/b/v1/run')?.ko.id.version, 'v2', 'the API version v1, not the KO version v1');
  assert.equal(set.versioned('a/b/v2/run')?.ko.id.version, 'v2');
  assert.equal(set.versioned('a/b/3/run'), undefined);
  assert.equal(set.versioned('a/b/run'), undefined);
  assert.equal(set.versioned('__proto__'), undefined);
});

test('without a version it is the newest that is active or may become so, and a failed one where all failed', async () => {
  const active = await decidedEndpointsOf(code('b', 'v2', '2.0'), engine);
  const failed = await decidedEndpointsOf(code('b', 'v10', '10.0'), engine, 'no function');
  const loading = await endpointsOf(code('b', 'v9', '9.0'), engine);
  const newest = (...endpoints: Endpoint[][]): string | undefined =>
    new EndpointSet(endpoints.flat(), []).newest('a/b/run')?.apiVersion;
  assert.equal(newest(active, failed), '2.0');
  assert.equal(newest(active, failed, loading), '9.0');
  assert.equal(newest(failed), '10.0');
  assert.equal(newest(), undefined);
  const set = new EndpointSet([...active, ...failed, ...loading], []);
  assert.deepEqual(
    set.versions('a/b/run').map((each) => each.apiVersion),
    ['10.0', '9.0', '2.0'],
  );
  assert.deepEqual(set.versions('a/b/other'), []);
});

test('a call of another KO finds what is not known to have failed, in any spelling of a client', async () => {
  const failed = await decidedEndpointsOf(code('f', 'v1', '1.0'), engine, 'broken');
  const active = await decidedEndpointsOf(code('b', 'v1', '1.0'), engine);
  const set = new EndpointSet([...failed, ...active], []);
  for (const id of ['a/b/1.0/run', '/a/b/1.0/run/', 'a/b/v1/run', 'a/b/run']) assert.equal(set.find(id), active[0], id);
  for (const id of ['a/f/1.0/run', 'a/f/run', 'a/b', '', '/', 'a/b/1.0']) assert.equal(set.find(id), undefined, id);
});

test('one path may be code and a resource, each found by its method', async () => {
  const post = await decidedEndpointsOf(javascriptKo('', { naan: 'a', name: 'b', endpoint: 'both' }), engine);
  const get = await decidedEndpointsOf(
    resourceKo({ naan: 'a', name: 'b', version: 'v2', endpoint: 'both', resources: { 'x.csv': '' } }),
    resources,
  );
  const set = new EndpointSet([...post, ...get], []);
  assert.equal(set.versioned('a/b/1.0/both', 'post'), post[0]);
  assert.equal(set.versioned('a/b/1.0/both', 'get'), get[0]);
  assert.equal(set.newest('a/b/both', 'get'), get[0]);
  const only = new EndpointSet(get, []);
  assert.equal(only.versioned('a/b/1.0/both', 'post'), get[0], 'the other where there is none of this method');
  assert.equal(only.newest('a/b/both', 'post'), get[0]);
});
