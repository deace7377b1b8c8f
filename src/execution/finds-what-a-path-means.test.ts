import assert from 'node:assert/strict';
import { test } from 'node:test';
import { javascriptKo, ko, type Ko, resourceKo } from '../../test/acceptance/support/ko.ts';
import { decidedEndpointsOf, ManualEngine } from '../../test/support/in-memory.ts';
import { EndpointSet } from '../activation/endpoint-set.ts';
import { allowedAt, endpointAt, keyOf, nothingActive, resourceAt } from './find-endpoint.ts';

const engine = new ManualEngine();
const files = new ManualEngine({ name: 'resource', method: 'get' });
const code = (version: string, paths: readonly string[] = ['/run']): Ko =>
  ko({
    naan: 'a',
    name: 'b',
    version: `v${version}`,
    apiVersion: version,
    endpoints: paths.map((path) => ({ path, deployment: { artifact: 'x.js', engine: 'javascript' } })),
  });

test('a path is decoded segment by segment, without slashes at its ends', () => {
  const keys: Readonly<Record<string, string>> = {
    '/a/b/1.0/run': 'a/b/1.0/run',
    '//a/b/run//': 'a/b/run',
    '/a/b/r%75n': 'a/b/run',
    '/a/b/x%2Fy': 'a/b/x/y',
    '/%C3%A9/b/c': 'é/b/c',
  };
  for (const [path, key] of Object.entries(keys)) assert.equal(keyOf(path), key);
  for (const path of ['/a/%', '/a/%zz', '/a/%ff']) assert.throws(() => keyOf(path), /not a valid URL path/);
});

test('the version is a segment, a query, or the newest', async () => {
  const set = new EndpointSet(
    (await Promise.all(['1.0', '2.0'].map((v) => decidedEndpointsOf(code(v), engine)))).flat(),
    [],
  );
  const versionAt = (key: string, version?: string) => endpointAt(set, key, version, 'post')?.apiVersion;
  assert.equal(versionAt('a/b/1.0/run'), '1.0');
  assert.equal(versionAt('a/b/v1.0/run'), '1.0', 'a KO version');
  assert.equal(versionAt('a/b/run', '1.0'), '1.0');
  assert.equal(versionAt('a/b/run', 'v1.0'), '1.0');
  assert.equal(versionAt('a/b/run'), '2.0');
  assert.equal(versionAt('a/b/run', '3.0'), undefined, 'never another than the one that was asked for');
  assert.equal(versionAt('a/b/3.0/run'), undefined);
  assert.equal(versionAt('a/b'), undefined);
});

test('a version segment wins over an endpoint path of two segments', async () => {
  const two = await decidedEndpointsOf(code('1.0', ['/c/d', '/d']), engine);
  const versionC = (await decidedEndpointsOf(code('c', ['/d']), engine)).concat(two);
  assert.equal(endpointAt(new EndpointSet(versionC, []), 'a/b/c/d', undefined, 'post')?.id, 'a/b/c/d');
  assert.equal(endpointAt(new EndpointSet(versionC, []), 'a/b/c/d', undefined, 'post')?.apiVersion, 'c');
  assert.equal(endpointAt(new EndpointSet(two, []), 'a/b/c/d', undefined, 'post')?.id, 'a/b/1.0/c/d');
});

test('a path below a resource is one of its artifacts, of the longest endpoint that fits', async () => {
  const of = (endpoint: string, version: string) =>
    decidedEndpointsOf(
      resourceKo({ naan: 'a', name: 'b', version, apiVersion: version, endpoint, resources: { 'x.csv': '' } }),
      files,
    );
  const set = new EndpointSet([...(await of('files', '1')), ...(await of('files/more', '2'))], []);
  const at = (key: string, version?: string) => {
    const found = resourceAt(set, key, version);
    return found && [found.endpoint.id, found.artifact];
  };
  assert.deepEqual(at('a/b/1/files/x.csv'), ['a/b/1/files', 'x.csv']);
  assert.deepEqual(at('a/b/files/data/x.csv'), ['a/b/1/files', 'data/x.csv']);
  assert.deepEqual(at('a/b/files/more/x.csv'), ['a/b/2/files/more', 'x.csv']);
  assert.deepEqual(at('a/b/files/x.csv', '1'), ['a/b/1/files', 'x.csv']);
  assert.equal(at('a/b/files/x.csv', '9'), undefined);
  assert.equal(at('a/b/other/x.csv'), undefined);
  assert.equal(at('a/b'), undefined);
});

test('the methods of an address are those of its endpoints', async () => {
  const post = await decidedEndpointsOf(javascriptKo('', { naan: 'a', name: 'b', endpoint: 'both' }), engine);
  const get = await decidedEndpointsOf(
    resourceKo({ naan: 'a', name: 'b', endpoint: 'both', resources: { 'x.csv': '' } }),
    files,
  );
  const allowed = (...endpoints: typeof post): string[] =>
    allowedAt(new EndpointSet(endpoints, []), 'a/b/1.0/both', undefined);
  assert.deepEqual(allowed(...post), ['POST']);
  assert.deepEqual(allowed(...get), ['GET', 'HEAD']);
  assert.deepEqual(allowed(...get, ...post), ['GET', 'HEAD', 'POST']);
});

test('the 404 says what is active, what failed and why, and what is on the shelf', async () => {
  const active = await decidedEndpointsOf(code('1.0'), engine);
  const failed = await decidedEndpointsOf(code('2.0'), engine, 'src/x.js line 3: no function run');
  const failures = [{ id: { naan: 'a', name: 'b', version: 'v4.0' }, cause: 'service.yaml is not YAML' }];
  const set = new EndpointSet([...active, ...failed], failures);
  const detail = (key: string, onShelf: string[] = [], version?: string): string =>
    nothingActive(
      set,
      { key, version, asked: endpointAt(set, key, version, 'post') },
      onShelf.map((each) => ({ id: { naan: 'a', name: 'b', version: each } })),
    ).message;
  assert.equal(detail('x/y/z'), 'No active endpoints found for x/y/z');
  assert.equal(
    detail('a/b/3.0/run', ['v3.0']),
    'No active endpoints found for a/b/run; active API versions: 1.0; ' +
      'a/b/2.0/run failed to activate: src/x.js line 3: no function run',
  );
  assert.equal(
    detail('a/b/2.0/run'),
    'No active endpoints found for a/b/run; active API versions: 1.0; ' +
      'a/b/2.0/run failed to activate: src/x.js line 3: no function run',
  );
  assert.equal(
    detail('a/b/other', ['v1.0', 'v3.0', 'v4.0']),
    'No active endpoints found for a/b/other; endpoints of a/b: run; ' +
      'a/b/2.0/run failed to activate: src/x.js line 3: no function run; ' +
      'a/b/v3.0 is on the shelf but not active: GET /actuator/activation/reload/a/b/v3.0 activates it; ' +
      'a/b/v4.0 does not run: service.yaml is not YAML',
  );
});
