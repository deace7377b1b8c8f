/** The description of the service's own interface, `openapi/service.yaml`, in both forms. */
import type { FastifyInstance } from 'fastify';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { declare } from './methods.ts';

const DOCUMENT = join(import.meta.dirname, '../../openapi/service.yaml');

export function openapiRoutes(app: FastifyInstance): void {
  const yaml = readFileSync(DOCUMENT, 'utf8');
  // Made for the first who asks: to parse it is a tenth of a start.
  let json: string | undefined;
  const send = (type: string, content: () => string): Parameters<typeof declare>[2] => ({
    GET: {
      access: 'open',
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
