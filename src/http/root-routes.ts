/** `GET /`: links for programs, a page for people. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parse } from 'yaml';
import { preferredType } from '../lib/preferred-type.ts';
import { addressOf } from './address.ts';
import { declare } from './methods.ts';
import { sendFront } from '../web/web-routes.ts';

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
    if (wanted === 'text/html') return sendFront(reply);
    const address = addressOf(request, publicUrl);
    return {
      description: 'KGrid Activator: serves knowledge objects as REST endpoints',
      links: LINKS.map(([rel, path]) => ({ rel, href: `${address}${path}` })),
    };
  };
  declare(app, '/', { GET: { access: 'public', handler } });
}

// The description of the service's own interface, `openapi/service.yaml`, in both forms.

const DOCUMENT = join(import.meta.dirname, '../../openapi/service.yaml');

export function openapiRoutes(app: FastifyInstance): void {
  const yaml = readFileSync(DOCUMENT, 'utf8');
  // Made for the first who asks: to parse it is a tenth of a start.
  let json: string | undefined;
  const send = (type: string, content: () => string): Parameters<typeof declare>[2] => ({
    GET: {
      access: 'public',
      handler: (_request, reply) =>
        reply.headers({ 'content-type': type, 'cache-control': 'no-cache' }).send(content()),
    },
  });
  declare(
    app,
    '/openapi.yaml',
    send('application/yaml', () => yaml),
  );
  // The `x-route` of a path is for the tests that hold the document to the routes.
  const asJson = (): string => (json ??= JSON.stringify(parse(yaml)));
  declare(app, '/openapi.json', send('application/json', asJson));
}
