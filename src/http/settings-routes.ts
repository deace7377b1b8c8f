/** The settings that are not as by default: `GET /actuator/settings`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ChangedSetting } from '../config/changed-settings.ts';
import { escapeSteering } from '../lib/log.ts';
import { declare } from './methods.ts';

export function settingsRoutes(app: FastifyInstance, changed: readonly ChangedSetting[]): void {
  const read = (_request: FastifyRequest, reply: FastifyReply): unknown => {
    void reply.header('cache-control', 'no-store').type('application/json; charset=utf-8');
    return escapeSteering(JSON.stringify(changed));
  };
  declare(app, '/actuator/settings', { GET: { access: 'info', handler: read } });
}
