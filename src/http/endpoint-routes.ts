/** The Endpoint Resource API: what is loaded, and how it is. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../activation/activator.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { EndpointSet } from '../activation/endpoint-set.ts';
import { engineName } from '../engines/table.ts';
import { endpointNotFound } from '../lib/errors.ts';
import { cutWords } from '../lib/text.ts';
import { addressOf } from './address.ts';
import { askedVersion } from './asked-version.ts';
import { declare } from './methods.ts';

const CONTEXT = [
  'https://kgrid.org/koio/contexts/knowledgeobject.jsonld',
  'https://kgrid.org/koio/contexts/implementation.jsonld',
];

/** Addresses are the client's to choose: only so many are remembered. */
const MOST_ADDRESSES = 8;

/** One path may have code and a resource. */
const BOTH = ['post', 'get'] as const;

export interface EndpointRoutesOptions {
  readonly activator: Activator;
  readonly publicUrl: string | undefined;
}

export function endpointRoutes(app: FastifyInstance, { activator, publicUrl }: EndpointRoutesOptions): void {
  const shown = (request: FastifyRequest, endpoints: readonly Endpoint[]): unknown[] => {
    const address = addressOf(request, publicUrl);
    return endpoints.map((each) => representation(each, address));
  };
  const get = (handler: (request: FastifyRequest, reply: FastifyReply) => unknown) => ({
    GET: {
      access: 'open' as const,
      handler: async (request: FastifyRequest, reply: FastifyReply) => {
        if (!activator.loaded) await activator.whenLoaded;
        return handler(request, reply);
      },
    },
  });
  const prepared = new WeakMap<EndpointSet, Map<string, Buffer>>();
  /** Once all endpoints of a set are decided, the text for an address stays the same. */
  const list = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { set } = activator;
    const address = addressOf(request, publicUrl);
    const known = prepared.get(set) ?? new Map<string, Buffer>();
    const body = known.get(address) ?? Buffer.from(JSON.stringify(shown(request, set.endpoints)));
    if (known.size < MOST_ADDRESSES && set.endpoints.every((each) => each.status !== 'LOADED')) {
      prepared.set(set, known.set(address, body));
    }
    return reply.type('application/json; charset=utf-8').send(body);
  };

  declare(app, '/endpoints', get(list));
  // "Engines are matched without case; an engine nobody has: `[]`."
  declare(
    app,
    '/endpoints/:engine',
    get((request) => {
      const { engine = '' } = request.params as { engine?: string };
      return shown(
        request,
        activator.set.endpoints.filter((each) => each.entry.engine === engineName(engine)),
      );
    }),
  );
  declare(
    app,
    '/endpoints/:naan/:name/*',
    get((request) => {
      const { naan = '', name = '', '*': rest = '' } = request.params as Record<string, string>;
      const v = askedVersion(request);
      const key = `${naan}/${name}/${rest.replace(/\/$/, '')}`;
      const exact = activator.set.versioned(key);
      if (exact !== undefined) return representation(exact, addressOf(request, publicUrl));
      const versions = activator.set.versions(key);
      const wanted =
        v === undefined
          ? versions
          : versions.filter((each) =>
              BOTH.some((method) => each === activator.set.versioned(`${naan}/${name}/${v}/${each.name}`, method)),
            );
      if (wanted.length === 0)
        throw endpointNotFound(`No endpoints found for ${key}${v === undefined ? '' : ` with version ${v}`}`);
      return shown(request, wanted);
    }),
  );
}

/** The endpoint representation of the specification, and `detail` where there is something to say. */
function representation(endpoint: Endpoint, address: string): Record<string, unknown> {
  const { ko } = endpoint;
  const path = `/kos/${ko.key}`;
  const file = ko.details.hasServiceSpecification ?? 'service.yaml';
  // A file may be named `my service#2.yaml`: the path leads to it all the same.
  const descriptor = `${path}/${file.split('/').map(encodeURIComponent).join('/')}`;
  return {
    title: cutWords(ko.details.title ?? ko.service.title ?? ko.key),
    swaggerLink: `${address}/doc?url=${encodeURIComponent(address + descriptor)}`,
    hasServiceSpecification: descriptor,
    ...(endpoint.activated === undefined ? {} : { activated: endpoint.activated }),
    status: endpoint.status,
    ...(endpoint.detail === undefined ? {} : { detail: endpoint.detail }),
    engine: endpoint.entry.engine,
    knowledgeObject: path,
    '@id': endpoint.id,
    '@context': CONTEXT,
  };
}
