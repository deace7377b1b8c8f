/** `GET /actuator/health`. */
import type { Activator } from '../../activation/activator.ts';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { LoadFailure } from '../../activation/endpoint-set.ts';
import type { EngineRegistry } from '../../engines/engine-registry.ts';
import type { WallsReport } from '../../confinement/report-walls.ts';
import type { Fleet } from '../../fleet/fleet.ts';
import { koKey } from '../../knowledge-object/id.ts';
import type { Lifecycle } from '../../lifecycle.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Shelf } from '../../shelf/shelf.ts';
import type { Operation } from '../methods.ts';

export interface HealthOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly engines: EngineRegistry;
  readonly walls: WallsReport;
  readonly fleet: Fleet | undefined;
  readonly lifecycle: Lifecycle;
}

export const readHealth = (options: HealthOptions): Operation => ({
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
    if (request.principal.kind === 'anonymous') return { status: 'UP' };
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
    ...{ knowledgeObject, cause: detail },
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
