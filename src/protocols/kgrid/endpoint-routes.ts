/** The Endpoint Resource API: what is loaded, and how it is. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../../activation/activator.ts';
import {
  comparePlaces,
  type EndpointPlace,
  type EndpointSet,
  parsePlace,
  placeText,
} from '../../activation/endpoint-set.ts';
import type { Endpoint, EndpointStatus } from '../../activation/endpoint.ts';
import { engineName } from '../../engines/table.ts';
import { keyOf, wantedByAtId } from '../../execution/find-endpoint.ts';
import { addressOf } from '../../http/address.ts';
import { askedVersion } from '../../http/headers.ts';
import type { EndpointTexts } from '../../http/listings/endpoint-texts.ts';
import { linkNext, listQueryOf, pageOf, textIn, WholeList } from '../../http/listings/list-query.ts';
import { declare, type Operation } from '../../http/methods.ts';
import { isFoundBy } from '../../lib/search.ts';
import { visibleSet } from '../../identity/visible.ts';
import { behindFirst, spellingsOf, textsOf } from '../../knowledge-object/places.ts';
import { endpointNotFound, malformedRequest } from '../../lib/errors.ts';

/** One path may have code and a resource. */
const BOTH = ['post', 'get'] as const;

export interface EndpointRoutesOptions {
  readonly activator: Activator;
  readonly publicUrl: string | undefined;
  readonly texts: EndpointTexts;
  /** `POST /endpoints/<@id>/<endpoint>`. */
  readonly executeByAtId: Operation;
}

interface List {
  readonly endpoints: readonly Endpoint[];
  /** Its path, percent-encoded. */
  readonly path: string;
  /** The newest version first. */
  readonly descending?: boolean;
}

export function endpointRoutes(app: FastifyInstance, options: EndpointRoutesOptions): void {
  const { activator, publicUrl, texts, executeByAtId } = options;
  const whole = new WholeList(texts);
  const send = (reply: FastifyReply, body: string | Buffer): FastifyReply =>
    reply.type('application/json; charset=utf-8').send(body);
  const get = (handler: (request: FastifyRequest, reply: FastifyReply) => unknown) => ({
    GET: {
      access: 'read' as const,
      handler: async (request: FastifyRequest, reply: FastifyReply) => {
        if (!activator.loaded) await activator.whenLoaded();
        return handler(request, reply);
      },
    },
  });

  /** Those that whoever asks may read. */
  const setFor = ({ principal }: FastifyRequest): EndpointSet => visibleSet(activator.set, principal.grants);

  /** All endpoints of the KO whose `@id` the path is. */
  const ofKo = (request: FastifyRequest): readonly Endpoint[] => {
    for (const atId of textsOf(behindFirst(request.url)).flatMap(spellingsOf)) {
      const all = setFor(request).ofAtId(atId);
      if (all.length > 0) return all.filter(({ ko }) => ko === all[0]?.ko);
    }
    return [];
  };

  /** The page of a list that the query asks for; all of it where it asks for none. */
  const sendList = (request: FastifyRequest, reply: FastifyReply, list: List): FastifyReply => {
    const status = statusIn(request);
    const part = listQueryOf(request, parsePlace);
    const query = part ?? (status === undefined ? undefined : WHOLE);
    const address = addressOf(request, publicUrl);
    if (query === undefined) return send(reply, texts.listOf(list.endpoints, address));
    const { entries, more } = pageOf(
      list.endpoints,
      isBehind(query.after, list.descending === true),
      (each) =>
        (status === undefined || each.status === status) &&
        (query.search === '' || isFoundBy(texts.searched(each), query.search)),
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
      const set = setFor(request);
      if (listQueryOf(request, parsePlace) === undefined && statusIn(request) === undefined)
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
      const ofEngine = setFor(request).ofEngine(engineName(engine));
      const endpoints = ofEngine.length > 0 ? ofEngine : ofKo(request);
      return sendList(request, reply, { endpoints, path: `/endpoints/${encodeURIComponent(engine)}` });
    }),
  );
  declare(app, '/endpoints/*', {
    ...get((request, reply) => {
      const v = askedVersion(request);
      const key = keyOf(behindFirst(request.url));
      const set = setFor(request);
      const exact = set.versioned(key);
      if (exact !== undefined) return send(reply, texts.of(exact, addressOf(request, publicUrl)));
      const [naan = '', name = ''] = key.split('/');
      const versions = set.versions(key);
      const wanted =
        v === undefined
          ? versions
          : versions.filter((each) =>
              BOTH.some((method) => each === set.versioned(`${naan}/${name}/${v}/${each.name}`, method)),
            );
      const path = `/endpoints/${key.split('/').map(encodeURIComponent).join('/')}`;
      if (wanted.length > 0) return sendList(request, reply, { endpoints: wanted, path, descending: true });
      // "GET under `/endpoints` […] first mean what the specification says […], then the `@id`."
      const named = wantedByAtId(request.url, v, set).in(set, 'post');
      if (named !== undefined) return send(reply, texts.of(named, addressOf(request, publicUrl)));
      const all = ofKo(request);
      const atId = all[0]?.ko.atId;
      if (atId !== undefined)
        return sendList(request, reply, { endpoints: all, path: `/endpoints/${encodeURIComponent(atId)}` });
      throw endpointNotFound(`No endpoints found for ${key}${v === undefined ? '' : ` with version ${v}`}`);
    }),
    POST: executeByAtId,
  });
}

const STATUSES = ['LOADED', 'ACTIVATED', 'FAILED_TO_ACTIVATE'] as const satisfies readonly EndpointStatus[];
const WHOLE = { limit: undefined, after: undefined, search: '' } as const;

/** Only endpoints of this status. @throws malformedRequest. */
function statusIn(request: FastifyRequest): EndpointStatus | undefined {
  const asked = textIn(request, 'status');
  if (asked === undefined) return undefined;
  const status = STATUSES.find((each) => each === asked.toUpperCase());
  if (status === undefined) throw malformedRequest(`status must be one of ${STATUSES.join(', ')}`);
  return status;
}

function isBehind(after: EndpointPlace | undefined, descending: boolean): (endpoint: Endpoint) => boolean {
  if (after === undefined) return () => true;
  const sign = descending ? -1 : 1;
  return (endpoint) => sign * comparePlaces(endpoint, after) > 0;
}
