/** Tells of the nodes of a fleet, and lets an operator confirm what became of its database. */
import type { FastifyInstance } from 'fastify';
import type { Fleet } from '../fleet/fleet.ts';
import { notFound } from '../lib/errors.ts';
import { audit } from './access/audit.ts';
import { declare } from './methods.ts';

export function fleetRoutes(app: FastifyInstance, fleet: Fleet | undefined): void {
  declare(app, '/actuator/fleet', {
    GET: {
      access: 'info',
      handler: async (_request, reply) => {
        void reply.header('cache-control', 'no-store');
        return shared(fleet).report();
      },
    },
  });
  declare(app, '/actuator/fleet/confirm', {
    POST: {
      access: 'activation',
      handler: async (request, reply) => {
        await shared(fleet).confirm();
        audit(request, { action: 'confirm', subject: 'fleet', outcome: 'done' });
        return reply.code(204).send();
      },
    },
  });
}

function shared(fleet: Fleet | undefined): Fleet {
  if (fleet !== undefined) return fleet;
  throw notFound('This activator is alone: a fleet shares a shelf in PostgreSQL (--shelf postgres://…)');
}
