import assert from 'node:assert/strict';
import diagnostics from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { createApp } from '../../src/app.ts';
import { toConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/lib/log.ts';
import { Output } from '../../src/lib/output.ts';
import { Lifecycle } from '../../src/lifecycle.ts';
import { operationsOf, readInterface, routesOf } from './support/interface.ts';
import { read } from './support/project.ts';

/** `<METHOD> <pattern>` of all that the service declares, but for the routes that answer 405. */
async function declaredRoutes(): Promise<Set<string>> {
  const routes = new Set<string>();
  const watch = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ method, url }) => {
      const methods = [method].flat();
      if (!methods.includes('PATCH')) for (const each of methods) routes.add(`${each} ${url}`);
    });
  };
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-documents-'));
  diagnostics.subscribe('fastify.initialization', watch);
  try {
    const app = await createApp({
      config: toConfig(new Map()),
      shelf: folder,
      build: { version: '0', commit: 'unknown' },
      lifecycle: new Lifecycle(),
      environment: {},
      cache: folder,
      log: createLog({ level: 'silent', format: 'json' }, new Output(1)),
      lostLines: () => 0,
    });
    await app[Symbol.asyncDispose]();
  } finally {
    diagnostics.unsubscribe('fastify.initialization', watch);
    await rm(folder, { recursive: true, force: true });
  }
  return routes;
}

test('the OpenAPI document has every route and method of the service, and no other', async () => {
  const { paths } = await readInterface();
  const documented = Object.entries(paths).flatMap(([path, item]) =>
    routesOf(path, item).flatMap((route) => operationsOf(item).map(([method]) => `${method.toUpperCase()} ${route}`)),
  );
  const declared = await declaredRoutes();
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
