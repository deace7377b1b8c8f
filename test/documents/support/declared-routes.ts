/** The routes that the service declares, with what each asks of whoever uses it. */
import diagnostics from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { createApp } from '../../../src/app.ts';
import { toConfig } from '../../../src/config/config.ts';
import type { Permission } from '../../../src/identity/permissions.ts';
import { createLog } from '../../../src/lib/log.ts';
import { Output } from '../../../src/lib/output.ts';
import { Lifecycle } from '../../../src/lifecycle.ts';

export interface DeclaredRoute {
  readonly method: string;
  readonly route: string;
  readonly access: Permission;
}

/** All but those that answer 405. */
export async function declaredRoutes(): Promise<readonly DeclaredRoute[]> {
  const routes: DeclaredRoute[] = [];
  const watch = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ method, url, config }) => {
      const methods = [method].flat();
      const access = config?.access;
      if (methods.includes('PATCH') || access === undefined) return;
      for (const each of methods) routes.push({ method: each, route: url, access });
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
