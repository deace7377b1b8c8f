/** The Endpoint Resource API: what is loaded, and how it is. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../activation/activator.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import { comparePlaces, parsePlace, placeText } from '../activation/endpoint-order.ts';
import type { EndpointPlace } from '../activation/endpoint-order.ts';
import { engineName } from '../engines/table.ts';
import { endpointNotFound } from '../lib/errors.ts';
import { addressOf } from './address.ts';
import { askedVersion } from './asked-version.ts';
import type { EndpointTexts } from './listings/endpoint-texts.ts';
import { linkNext, listQueryOf } from './listings/list-query.ts';
import { pageOf } from './listings/page-of.ts';
import { WholeList } from './listings/whole-list.ts';
import { declare } from './methods.ts';
import { isFoundBy } from './pages/search.js';

/** One path may have code and a resource. */
const BOTH = ['post', 'get'] as const;

export interface EndpointRoutesOptions {
  readonly activator: Activator;
  readonly publicUrl: string | undefined;
  readonly texts: EndpointTexts;
}

interface List {
  readonly endpoints: readonly Endpoint[];
  /** Its path, percent-encoded. */
  readonly path: string;
  /** The newest version first. */
  readonly descending?: boolean;
}

export function endpointRoutes(app: FastifyInstance, { activator, publicUrl, texts }: EndpointRoutesOptions): void {
  const whole = new WholeList(texts);
  const send = (reply: FastifyReply, body: string | Buffer): FastifyReply =>
    reply.type('application/json; charset=utf-8').send(body);
  const get = (handler: (request: FastifyRequest, reply: FastifyReply) => unknown) => ({
    GET: {
      access: 'open' as const,
      handler: async (request: FastifyRequest, reply: FastifyReply) => {
        if (!activator.loaded) await activator.whenLoaded;
        return handler(request, reply);
      },
    },
  });

  /** The page of a list that the query asks for; all of it where it asks for none. */
  const sendList = (request: FastifyRequest, reply: FastifyReply, list: List): FastifyReply => {
    const query = listQueryOf(request, parsePlace);
    const address = addressOf(request, publicUrl);
    if (query === undefined) return send(reply, texts.listOf(list.endpoints, address));
    const { entries, more } = pageOf(
      list.endpoints,
      isBehind(query.after, list.descending === true),
      (each) => query.search === '' || isFoundBy(texts.searched(each), query.search),
      query.limit,
    );
    const last = entries.at(-1);
    if (more && last !== undefined) linkNext(request, reply, list.path, placeText(last));
    return send(reply, texts.listOf(entries, address));
  };

  declare(
    app,
    '/endpoints',
    get((request, reply) => {
      const { set } = activator;
      if (listQueryOf(request, parsePlace) === undefined)
        return send(reply, whole.of(set, addressOf(request, publicUrl)));
      return sendList(request, reply, { endpoints: set.endpoints, path: '/endpoints' });
    }),
  );
  // "Engines are matched without case; an engine nobody has: `[]`."
  declare(
    app,
    '/endpoints/:engine',
    get((request, reply) => {
      const { engine = '' } = request.params as { engine?: string };
      const endpoints = activator.set.ofEngine(engineName(engine));
      return sendList(request, reply, { endpoints, path: `/endpoints/${encodeURIComponent(engine)}` });
    }),
  );
  declare(
    app,
    '/endpoints/:naan/:name/*',
    get((request, reply) => {
      const { naan = '', name = '', '*': rest = '' } = request.params as Record<string, string>;
      const v = askedVersion(request);
      const key = `${naan}/${name}/${rest.replace(/\/$/, '')}`;
      const exact = activator.set.versioned(key);
      if (exact !== undefined) return send(reply, texts.of(exact, addressOf(request, publicUrl)));
      const versions = activator.set.versions(key);
      const wanted =
        v === undefined
          ? versions
          : versions.filter((each) =>
              BOTH.some((method) => each === activator.set.versioned(`${naan}/${name}/${v}/${each.name}`, method)),
            );
      if (wanted.length === 0)
        throw endpointNotFound(`No endpoints found for ${key}${v === undefined ? '' : ` with version ${v}`}`);
      const path = `/endpoints/${key.split('/').map(encodeURIComponent).join('/')}`;
      return sendList(request, reply, { endpoints: wanted, path, descending: true });
    }),
  );
}

function isBehind(after: EndpointPlace | undefined, descending: boolean): (endpoint: Endpoint) => boolean {
  if (after === undefined) return () => true;
  const sign = descending ? -1 : 1;
  return (endpoint) => sign * comparePlaces(endpoint, after) > 0;
}
