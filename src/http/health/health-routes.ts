/** Health, its probes, and info. */
import type { FastifyInstance } from 'fastify';
import { declare } from '../methods.ts';
import type { Operation } from '../methods.ts';
import { readHealth } from './read-health.ts';
import type { HealthOptions } from './read-health.ts';
import { readInfo } from './read-info.ts';
import type { InfoOptions } from './read-info.ts';

export type HealthRoutesOptions = HealthOptions & InfoOptions;

export function healthRoutes(app: FastifyInstance, options: HealthRoutesOptions): void {
  const { lifecycle } = options;
  declare(app, '/actuator/health', { GET: readHealth(options) });
  declare(app, '/actuator/health/liveness', { GET: probe(() => true) });
  declare(app, '/actuator/health/readiness', { GET: probe(() => lifecycle.ready) });
  declare(app, '/actuator/info', { GET: readInfo(options) });
}

const probe = (isUp: () => boolean): Operation => ({
  access: 'open',
  handler: (_request, reply) =>
    reply
      .code(isUp() ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: isUp() ? 'UP' : 'DOWN' }),
});
