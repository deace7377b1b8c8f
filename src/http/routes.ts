/** All routes of the service. */
import multipart from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';
import { activationRoutes } from './activation-routes.ts';
import { auditRoutes } from './audit-routes.ts';
import { consoleRoutes } from './console/console-routes.ts';
import { fleetRoutes } from './fleet-routes.ts';
import { removedRoutes } from './removed-routes.ts';
import { endpointRoutes } from './endpoint-routes.ts';
import type { Batches } from './execution/batch/batches.ts';
import type { HttpCalls } from './execution/calls.ts';
import { eventRoutes } from './events/event-routes.ts';
import type { ServiceEvents } from './events/service-events.ts';
import type { ServiceState } from './events/service-state.ts';
import { execution, executionRoutes } from './execution/execution-routes.ts';
import { EndpointFinder, wantedByAtId } from './execution/find-endpoint.ts';
import { failureRoutes } from './failure-routes.ts';
import { historyRoutes } from './history-routes.ts';
import { healthRoutes } from './health/health-routes.ts';
import { checkRoute } from './kos/check-route.ts';
import { kosRoutes } from './kos/kos-routes.ts';
import type { EndpointTexts } from './listings/endpoint-texts.ts';
import { logRoutes } from './log-routes.ts';
import { metricsRoutes } from './metrics-routes.ts';
import { openapiRoutes } from './openapi-routes.ts';
import { formRoutes } from './pages/form-routes.ts';
import { pageDataRoutes } from './pages/page-data.ts';
import { pageRoutes } from './pages/send-page.ts';
import { problemRoutes } from './problem-routes.ts';
import { proxyRoutes } from './proxy-routes.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { Exposition } from '../metrics/exposition.ts';
import type { History } from '../metrics/history.ts';
import type { RequestGate } from './request-gate.ts';
import { rootRoutes } from './root-routes.ts';
import { settingsRoutes } from './settings-routes.ts';
import type { ServerOptions } from './server.ts';

export interface RouteParts extends ServerOptions {
  readonly gate: RequestGate;
  readonly calls: HttpCalls;
  readonly batches: Batches;
  readonly texts: EndpointTexts;
  readonly exposition: Exposition;
  readonly history: History;
  /** Hears of calls of an endpoint that is known and not active. */
  readonly onNotActive: (endpoint: Endpoint, refusal: Error) => void;
  readonly events: ServiceEvents;
  readonly state: ServiceState;
  /** Calls so far. */
  readonly executed: () => number;
}

export async function addRoutes(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { config, shelf, activator, engines, lifecycle, gate, calls, batches, texts, executed } = parts;
  const { publicUrl } = config;
  rootRoutes(app, publicUrl);
  pageRoutes(app);
  consoleRoutes(app);
  const login = { execution: gate.isClosed('execution'), details: gate.isClosed('info') };
  pageDataRoutes(app, { activator, shelf, login, catalogue: () => parts.state.catalogue() });
  formRoutes(app, { activator, shelf });
  openapiRoutes(app);
  const finder = new EndpointFinder({
    ...{ activator, shelf, onNotActive: parts.onNotActive },
    arriving: () => lifecycle.manifests.arriving,
  });
  const executing = { activator, finder, calls, batches };
  const executeByAtId = execution(executing, (request) => wantedByAtId(request, activator.set));
  endpointRoutes(app, { activator, publicUrl, texts, executeByAtId });
  activationRoutes(app, activator);
  proxyRoutes(app, { activator, runtimes: parts.runtimes, publicUrl, fleet: parts.fleet });
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
    totals: () => ({ requests: gate.requests, calls: executed() }),
    lostLines: parts.lostLines,
  });
  logRoutes(app, { activator, shelf, consoles: parts.consoles, levels: parts.levels });
  historyRoutes(app, parts.history);
  failureRoutes(app, { failures: parts.failures, shelf });
  eventRoutes(app, { events: parts.events, lifecycle });
  settingsRoutes(app, config.changed);
  metricsRoutes(app, { exposition: parts.exposition, isOpen: config.openMetrics });
  await app.register(async (scope) => {
    await scope.register(multipart);
    checkRoute(scope, { target: parts.imports, lifecycle });
    kosRoutes(scope, { ...parts.imports, manifests: parts.manifests, activator, events: parts.events }, texts);
  });
  executionRoutes(app, executing);
}
