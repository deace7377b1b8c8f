/** What a form for the endpoints of a knowledge object needs: `GET /doc/forms/{naan}/{name}/{version}`. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../activation/activator.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import { koKey } from '../knowledge-object/id.ts';
import { visibleSet, visibleShelf } from '../identity/visible.ts';
import { notFound } from '../lib/errors.ts';
import { escapeSteering } from '../lib/log.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { matchesEtag } from '../http/headers.ts';
import { idOf, isId } from '../http/kos/ko-context.ts';
import { EndpointForms } from '../execution/validation/endpoint-forms.ts';
import { declare } from '../http/methods.ts';

export interface FormRouteOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
}

export function formRoutes(app: FastifyInstance, { activator, shelf }: FormRouteOptions): void {
  const forms = new EndpointForms();
  app.addHook('onClose', () => forms[Symbol.asyncDispose]());

  const read = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (!activator.loaded) await activator.whenLoaded();
    const id = idOf(request);
    const key = koKey(id);
    const { grants } = request.principal;
    const endpoints = isId(id)
      ? visibleSet(activator.set, grants)
          .ofName(id)
          .filter(({ ko }) => ko.key === key)
      : [];
    const [first] = endpoints;
    if (first === undefined && (!isId(id) || (await visibleShelf(shelf, grants).find(id)) === undefined))
      throw notFound(`There is no knowledge object ${key} on the shelf`);
    const states = endpoints.map(({ id: endpoint, status }) => `${endpoint} ${status}\n`).join('');
    const digest = first?.ko.entry.digest ?? '';
    const etag = `"${createHash('sha256').update(`${digest}\n${states}`).digest('base64url')}"`;
    void reply.headers({ 'cache-control': 'no-cache', etag }).type('application/json; charset=utf-8');
    if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
    const texts = first === undefined ? [] : await forms.of(first, endpoints);
    return escapeSteering(`[${endpoints.map((each, i) => withFacts(each, texts[i] ?? '{}')).join(',')}]`);
  };

  declare(app, '/doc/forms/:naan/:name/:version', { GET: { access: 'read', handler: read } });
}

/** `text`: a JSON object. */
function withFacts({ id, name, entry, accepts, status, engine }: Endpoint, text: string): string {
  const facts = {
    endpoint: id,
    name,
    method: entry.method,
    engine: engine?.name ?? entry.engine,
    status,
    contentTypes: entry.method === 'post' ? accepts : [],
  };
  const rest = text.slice(1);
  return `${JSON.stringify(facts).slice(0, -1)}${rest === '}' ? '' : ','}${rest}`;
}
