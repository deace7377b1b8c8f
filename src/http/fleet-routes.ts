/** Tells of the nodes of a fleet. */
import type { FastifyInstance } from 'fastify';
import type { Fleet } from '../fleet/fleet.ts';
import { notFound } from '../lib/errors.ts';
import { declare } from './methods.ts';

export function fleetRoutes(app: FastifyInstance, fleet: Fleet | undefined): void {
  declare(app, '/actuator/fleet', {
    GET: {
      access: 'info',
      handler: async (_request, reply) => {
        void reply.header('cache-control', 'no-store');
        if (fleet === undefined)
          throw notFound('This activator is alone: a fleet shares a shelf in PostgreSQL (--shelf postgres://…)');
        return fleet.report();
      },
    },
  });
}
