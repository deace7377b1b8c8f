/** Health, its probes, and info. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { stringify } from 'yaml';
import type { Activator } from '../activation/activator.ts';
import type { LoadFailure } from '../activation/endpoint-set.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import { koKey } from '../knowledge-object/id.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { messageOf } from '../lib/errors.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { isAuthenticated } from './access/principal.ts';
import { preferredType } from './accept.ts';
import { declare } from './methods.ts';

export interface HealthRoutesOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly engines: EngineRegistry;
  readonly version: string;
  readonly lifecycle: Lifecycle;
  /** Requests so far. */
  readonly totals: () => { readonly requests: number; readonly calls: number };
  /** Lines of the log that its reader did not take. */
  readonly lostLines: () => number;
}

/** A shelf that can be read and no longer written is DOWN, and leaves the whole UP: what is active runs. */
function shelfPart(shelf: Shelf): unknown {
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

/** As it should be, and said, since nothing of it can be called. */
const toWithoutEndpoints = ({ id, cause }: LoadFailure): unknown => ({ knowledgeObject: koKey(id), detail: cause });

export function healthRoutes(app: FastifyInstance, options: HealthRoutesOptions): void {
  const { activator, shelf, engines } = options;

  const health = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    void reply.header('cache-control', 'no-store');
    const problem = options.lifecycle.stopping
      ? 'the service stops'
      : await shelf.check().then(() => undefined, messageOf);
    // "When the activator is DOWN the body is only `status: DOWN`."
    if (problem !== undefined) {
      request.log.error({ requestId: request.id, problem }, 'health is DOWN');
      return reply.code(503).send({ status: 'DOWN' });
    }
    if (!isAuthenticated(request)) return { status: 'UP' };
    return { status: 'UP', components: await components() };
  };

  const components = async (): Promise<Record<string, unknown>> => {
    const adapters = Object.fromEntries(
      [...engines.values()].map((engine) => [`${engine.name}Engine`, engines.health(engine)]),
    );
    const manifests = options.lifecycle.manifests.health();
    const { endpoints, failures, withoutEndpoints } = activator.set;
    const failed = [
      ...[...failures.filter(({ transient }) => transient !== true), ...activator.unread].map(({ id, cause }) => ({
        knowledgeObject: koKey(id),
        cause,
      })),
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
      shelf: shelfPart(shelf),
      ...(manifests === undefined ? {} : { startManifests: manifests }),
    };
  };

  const info = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { endpoints } = activator.set;
    const count = (status: string): number => endpoints.filter((each) => each.status === status).length;
    const content = {
      build: { name: 'kgrid-activator', version: options.version, node: process.version },
      engines: Object.fromEntries(
        [...engines.values()].map((engine) => [engine.name, { ...engines.health(engine), ...engine.info() }]),
      ),
      kos: (await shelf.list()).length,
      endpoints: { loaded: endpoints.length, activated: count('ACTIVATED'), failed: count('FAILED_TO_ACTIVATE') },
      totals: options.totals(),
      log: { lostLines: options.lostLines() },
      uptimeSeconds: Math.floor(process.uptime()),
    };
    void reply.header('cache-control', 'no-store').header('vary', 'Accept');
    const wanted = preferredType(request.headers.accept, [
      'application/json',
      'application/yaml',
      'text/yaml',
      'application/x-yaml',
      'text/vnd.yaml',
    ]);
    return wanted?.includes('yaml') === true ? reply.type(wanted).send(stringify(content)) : content;
  };

  const probe = (isUp: () => boolean) => ({
    GET: {
      access: 'open' as const,
      handler: (_request: FastifyRequest, reply: FastifyReply) =>
        reply
          .code(isUp() ? 200 : 503)
          .header('cache-control', 'no-store')
          .send({ status: isUp() ? 'UP' : 'DOWN' }),
    },
  });

  declare(app, '/actuator/health', { GET: { access: 'health', handler: health } });
  declare(
    app,
    '/actuator/health/liveness',
    probe(() => true),
  );
  declare(
    app,
    '/actuator/health/readiness',
    probe(() => options.lifecycle.ready),
  );
  declare(app, '/actuator/info', { GET: { access: 'info', handler: info } });
}
