/** Health, its probes, and info. */
import type { FastifyInstance } from 'fastify';
import { stringify } from 'yaml';
import type { Activator } from '../activation/activator.ts';
import type { LoadFailure } from '../activation/endpoint-set.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { Build } from '../build.ts';
import type { WallsReport } from '../confinement/report-walls.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { koKey } from '../knowledge-object/id.ts';
import { messageOf } from '../lib/errors.ts';
import { preferredType } from '../lib/preferred-type.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { declare, type Operation } from './methods.ts';

type HealthRoutesOptions = HealthOptions & InfoOptions;

export function healthRoutes(app: FastifyInstance, options: HealthRoutesOptions): void {
  const { lifecycle } = options;
  declare(app, '/actuator/health', { GET: readHealth(options) });
  declare(app, '/actuator/health/liveness', { GET: probe(() => true) });
  declare(app, '/actuator/health/readiness', { GET: probe(() => lifecycle.ready) });
  declare(app, '/actuator/info', { GET: readInfo(options) });
}

const probe = (isUp: () => boolean): Operation => ({
  access: 'public',
  handler: (_request, reply) =>
    reply
      .code(isUp() ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: isUp() ? 'UP' : 'DOWN' }),
});

/** `GET /actuator/health`. */
interface HealthOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly engines: EngineRegistry;
  readonly walls: WallsReport;
  readonly fleet: Fleet | undefined;
  readonly lifecycle: Lifecycle;
}

const readHealth = (options: HealthOptions): Operation => ({
  access: 'health',
  handler: async (request, reply) => {
    void reply.header('cache-control', 'no-store');
    const problem = options.lifecycle.leaving
      ? 'the service stops'
      : await options.shelf.check().then(() => undefined, messageOf);
    // "When the activator is DOWN the body is only `status: DOWN`."
    if (problem !== undefined) {
      request.log.error({ requestId: request.id, problem }, 'health is DOWN');
      return reply.code(503).send({ status: 'DOWN' });
    }
    if (!request.principal.grants.everywhere('info')) return { status: 'UP' };
    return { status: 'UP', components: await componentsOf(options) };
  },
});

async function componentsOf({
  activator,
  shelf,
  engines,
  walls,
  fleet,
  lifecycle,
}: HealthOptions): Promise<Record<string, unknown>> {
  const adapters = Object.fromEntries(
    [...engines.values()].map((engine) => [`${engine.name}Engine`, engines.health(engine)]),
  );
  const manifests = lifecycle.manifests.health();
  const { endpoints, failures, withoutEndpoints } = activator.set;
  const failed = [
    ...[...failures.filter(({ transient }) => transient !== true), ...activator.unread].map(({ id, cause }) => ({
      knowledgeObject: koKey(id),
      cause,
    })),
    ...triedAgainOf(activator.triedAgain),
    ...shelf.damage().map(({ where, cause }) => ({ onShelf: where, cause })),
  ];
  return {
    activationService: {
      status: 'UP',
      details: {
        kos: (await shelf.list()).length,
        endpoints: endpoints.length,
        failures: failed,
        ...(withoutEndpoints.length === 0 ? {} : { withoutEndpoints: withoutEndpoints.map(toWithoutEndpoints) }),
      },
    },
    ...adapters,
    shelf: shelfComponent(shelf),
    walls,
    ...(fleet === undefined ? {} : { fleet: await fleet.health() }),
    ...(manifests === undefined ? {} : { startManifests: manifests }),
  };
}

/** Knowledge objects that could not be activated for a reason that may pass, such as packages that cannot be fetched. */
function triedAgainOf(endpoints: readonly Endpoint[]): readonly object[] {
  const first = new Map(endpoints.toReversed().map((each) => [each.ko.key, each]));
  return [...first].toReversed().map(([knowledgeObject, { detail, triedAgainAt }]) => ({
    knowledgeObject,
    cause: detail,
    ...(triedAgainAt === undefined ? {} : { triedAgainAt: new Date(triedAgainAt).toISOString() }),
  }));
}

/** As it should be, and said, since nothing of it can be called. */
const toWithoutEndpoints = ({ id, cause }: LoadFailure): unknown => ({ knowledgeObject: koKey(id), detail: cause });

/** A shelf that can be read and no longer written is DOWN, and leaves the whole UP: what is active runs. */
function shelfComponent(shelf: Shelf): unknown {
  const { problem, details } = shelf.condition();
  return {
    status: problem === undefined ? 'UP' : 'DOWN',
    details: {
      type: shelf.type,
      created: shelf.created.toISOString(),
      ...details,
      ...(problem === undefined ? {} : { problem }),
    },
  };
}

/** `GET /actuator/info`. */
interface InfoOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly engines: EngineRegistry;
  readonly walls: WallsReport;
  readonly build: Build;
  /** Requests so far. */
  readonly totals: () => { readonly requests: number; readonly calls: number };
  /** Lines of the log that its reader did not take. */
  readonly lostLines: () => number;
}

const TYPES = ['application/json', 'application/yaml', 'text/yaml', 'application/x-yaml', 'text/vnd.yaml'];

const readInfo = (options: InfoOptions): Operation => ({
  access: 'info',
  handler: async (request, reply) => {
    const content = await infoOf(options);
    void reply.header('cache-control', 'no-store').header('vary', 'Accept');
    const wanted = preferredType(request.headers.accept, TYPES);
    return wanted?.includes('yaml') === true ? reply.type(wanted).send(stringify(content)) : content;
  },
});

async function infoOf({ activator, shelf, engines, walls, build, totals, lostLines }: InfoOptions): Promise<unknown> {
  const { endpoints } = activator.set;
  const count = (status: string): number => endpoints.filter((each) => each.status === status).length;
  return {
    build: { name: 'kgrid-activator', ...build, node: process.version },
    engines: Object.fromEntries(
      [...engines.values()].map((engine) => [engine.name, { ...engines.health(engine), ...engine.info() }]),
    ),
    walls: walls.details,
    kos: (await shelf.list()).length,
    endpoints: { loaded: endpoints.length, activated: count('ACTIVATED'), failed: count('FAILED_TO_ACTIVATE') },
    totals: totals(),
    log: { lostLines: lostLines() },
    uptimeSeconds: Math.floor(process.uptime()),
  };
}
