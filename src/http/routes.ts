/** All routes of the service. */
import multipart from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';
import type { Permission } from '../identity/permissions.ts';
import { Passwords } from '../identity/passwords.ts';
import { accountRoutes } from './account-routes.ts';
import { activationRoutes } from './activation-routes.ts';
import {
  auditRoutes,
  failureRoutes,
  fleetRoutes,
  historyRoutes,
  metricsRoutes,
  problemRoutes,
  settingsRoutes,
} from './actuator-routes.ts';
import { consoleRoutes } from './console/console-routes.ts';
import { eventRoutes } from './event-routes.ts';
import { healthRoutes } from './health-routes.ts';
import { checkRoute } from './kos/check-route.ts';
import { kosRoutes } from './kos/kos-routes.ts';
import { logRoutes } from './log-routes.ts';
import { formRoutes } from './pages/form-routes.ts';
import { pageDataRoutes } from './pages/page-data.ts';
import { pageRoutes } from './pages/send-page.ts';
import type { Protocol } from './protocol.ts';
import { proxyRoutes } from './proxy-routes.ts';
import { removedRoutes } from './removed-routes.ts';
import type { RequestGate } from './request-gate.ts';
import { openapiRoutes, rootRoutes } from './root-routes.ts';
import type { ServerOptions } from './server.ts';

export interface RouteParts extends Omit<ServerOptions, 'protocols'> {
  readonly gate: RequestGate;
  readonly protocols: readonly Protocol[];
}

export async function addRoutes(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { config, shelf, activator, engines, execution, lifecycle, gate, texts } = parts;
  const { publicUrl } = config;
  const { identity } = execution;
  rootRoutes(app, publicUrl);
  pageRoutes(app);
  consoleRoutes(app);
  const isClosed = (permission: Permission): boolean => !identity.allows(identity.anybody, permission, {});
  const login = { execution: isClosed('execution'), details: isClosed('info') };
  pageDataRoutes(app, { activator, shelf, login, catalogue: () => parts.state.catalogue() });
  formRoutes(app, { activator, shelf });
  openapiRoutes(app);
  activationRoutes(app, activator);
  proxyRoutes(app, { activator, runtimes: parts.runtimes, publicUrl, fleet: parts.fleet, tokens: parts.tokens });
  auditRoutes(app, parts.auditStore);
  fleetRoutes(app, parts.fleet);
  removedRoutes(app, shelf, parts.auditStore);
  problemRoutes(app, activator, shelf);
  healthRoutes(app, {
    activator,
    shelf,
    engines,
    walls: parts.walls,
    fleet: parts.fleet,
    build: parts.build,
    lifecycle,
    totals: () => ({ requests: gate.requests, calls: execution.executed }),
    lostLines: parts.lostLines,
  });
  logRoutes(app, { activator, shelf, consoles: parts.consoles, levels: parts.levels });
  historyRoutes(app, parts.history);
  failureRoutes(app, { failures: parts.failures, shelf });
  eventRoutes(app, { events: parts.events, lifecycle });
  accountRoutes(app, { accounts: parts.accounts, passwords: new Passwords(), operator: config.basic?.user });
  settingsRoutes(app, config.changed);
  metricsRoutes(app, { exposition: parts.exposition });
  await app.register(async (scope) => {
    await scope.register(multipart);
    checkRoute(scope, { target: parts.imports, lifecycle });
    kosRoutes(scope, { ...parts.imports, manifests: parts.manifests, activator, events: parts.events }, texts);
  });
  for (const protocol of parts.protocols) protocol.addRoutes(app);
}
