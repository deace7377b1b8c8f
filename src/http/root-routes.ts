/** `GET /`: links for programs, a page for people. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { preferredType } from '../lib/accept.ts';
import { addressOf } from './address.ts';
import { declare } from './methods.ts';
import { sendPage } from './pages/send-page.ts';

const LINKS = [
  ['activator_health', '/actuator/health'],
  ['activator_info', '/actuator/info'],
  ['activator_ko_list', '/kos'],
  ['activator_endpoint_list', '/endpoints'],
] as const;

export function rootRoutes(app: FastifyInstance, publicUrl: string | undefined): void {
  const handler = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const wanted = preferredType(request.headers.accept, ['application/json', 'text/html']);
    void reply.header('vary', 'Accept');
    if (wanted === 'text/html') return sendPage(reply, 'overview.html');
    const address = addressOf(request, publicUrl);
    return {
      description: 'KGrid Activator: serves knowledge objects as REST endpoints',
      links: LINKS.map(([rel, path]) => ({ rel, href: `${address}${path}` })),
    };
  };
  declare(app, '/', { GET: { access: 'open', handler } });
}
