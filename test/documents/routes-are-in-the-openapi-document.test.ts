import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declaredRoutes } from './support/declared-routes.ts';
import { operationsOf, readInterface, routesOf } from './support/interface.ts';
import { read } from './support/project.ts';

test('the OpenAPI document has every route and method of the service, and no other', async () => {
  const { paths } = await readInterface();
  const documented = Object.entries(paths).flatMap(([path, item]) =>
    routesOf(path, item).flatMap((route) => operationsOf(item).map(([method]) => `${method.toUpperCase()} ${route}`)),
  );
  const declared = new Set((await declaredRoutes()).map(({ method, route }) => `${method} ${route}`));
  assert.ok(declared.size > 30, `${declared.size} routes`);
  assert.deepEqual([...new Set(documented)].sort(), [...declared].sort());
});

test('the OpenAPI document is valid, of version 3.0.3, and of the version of the service', async () => {
  const { openapi, info } = await readInterface();
  assert.equal(openapi, '3.0.3');
  assert.equal(info.version, (JSON.parse(read('package.json')) as { version: string }).version);
});

test('every operation has an id of its own', async () => {
  const { paths } = await readInterface();
  const ids = Object.values(paths).flatMap((item) => operationsOf(item).map(([, operation]) => operation.operationId));
  assert.equal(new Set(ids).size, ids.length);
});
