/** What the pages ask beside the interface for programs. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import type { Activator } from '../activation/activator.ts';
import { PERMISSION_NAMES } from '../identity/permissions.ts';
import { visibleSet, visibleShelf } from '../identity/visible.ts';
import { isKoPart } from '../knowledge-object/id.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { malformedRequest, notFound } from '../lib/errors.ts';
import { escapeSteering } from '../lib/log.ts';
import type { KoPackage, Shelf } from '../shelf/shelf.ts';
import { matchesEtag } from '../http/headers.ts';
import { numberIn, textIn } from '../http/listings/list-query.ts';
import { declare } from '../http/methods.ts';
import type { Operation } from '../http/methods.ts';
import { sendFile } from '../http/send-file.ts';
import { aboutOf } from './about-ko.ts';
import { Catalogue } from './catalogue.ts';
import { STATES } from './states.ts';

export interface DataOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly token: () => Promise<string>;
}

const DEFAULT_LIMIT = 25;
const MOST_LIMIT = 100;
const MOST_PAGES = 1_000_000;
const MOST_SEARCH = 200;

export function dataRoutes(app: FastifyInstance, { activator, shelf, token }: DataOptions): void {
  const catalogue = new Catalogue({ shelf, activator, token });

  /** Who asks, and what they may: the pages draw nothing that would be refused. */
  const session = (request: FastifyRequest, reply: FastifyReply): object => {
    const { name, kind, grants } = request.principal;
    void reply.header('cache-control', 'no-store').header('vary', 'Authorization');
    return { name, kind, may: PERMISSION_NAMES.filter((each) => grants.somewhere(each)) };
  };

  const find = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (!activator.loaded) await activator.whenLoaded();
    const state = textIn(request, 'state');
    const known = STATES.find((each) => each === state);
    if (state !== undefined && known === undefined) throw malformedRequest(`state must be one of ${STATES.join(', ')}`);
    const found = await catalogue.find({
      search: (textIn(request, 'q') ?? '').slice(0, MOST_SEARCH),
      page: numberIn(request, 'page', MOST_PAGES) ?? 1,
      limit: numberIn(request, 'limit', MOST_LIMIT) ?? DEFAULT_LIMIT,
      state: known,
      badFirst: textIn(request, 'order') === 'state',
      grants: request.principal.grants,
    });
    return send(request, reply, found);
  };

  const about = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (!activator.loaded) await activator.whenLoaded();
    const id = idIn(request);
    const { grants } = request.principal;
    const seen = { shelf: visibleShelf(shelf, grants), set: visibleSet(activator.set, grants) };
    const found = await aboutOf(seen, activator, id);
    if (found === undefined) throw notFound(`There is no knowledge object ${namedIn(request)} on the shelf`);
    return send(request, reply, found);
  };

  const files = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const pkg = await visibleShelf(shelf, request.principal.grants).open(idIn(request));
    if (pkg === undefined) throw notFound(`There is no knowledge object ${namedIn(request)} on the shelf`);
    try {
      return send(request, reply, filesOf(pkg));
    } finally {
      pkg.release();
    }
  };

  /** What was replaced or deleted is for those who may bring it back. */
  const kept = (answer: (request: FastifyRequest, reply: FastifyReply, pkg: KoPackage) => unknown): Operation => ({
    access: 'ko-details',
    handler: async (request, reply) => {
      const { digest = '' } = request.params as { readonly digest?: string };
      const [, hex] = /^(?:sha256:)?([0-9a-f]{64})$/.exec(digest) ?? [];
      if (hex === undefined) throw malformedRequest('The digest must be sha256:<64 hex digits>');
      const pkg = await shelf.openRemoved(idIn(request), hex);
      reply.raw.once('close', () => pkg.release());
      return answer(request, reply, pkg);
    },
  });

  declare(app, '/doc/session', { GET: { access: 'health', handler: session } });
  declare(app, '/doc/catalogue', { GET: { access: 'read', handler: find } });
  declare(app, '/doc/about/:naan/:name/:version', { GET: { access: 'read', handler: about } });
  declare(app, '/doc/files/:naan/:name/:version', { GET: { access: 'read', handler: files } });
  const removed = '/actuator/removed/:naan/:name/:version/:digest';
  declare(app, removed, { GET: kept((request, reply, pkg) => send(request, reply, filesOf(pkg))) });
  declare(app, `${removed}/*`, {
    GET: kept((request, reply, pkg) => {
      const { '*': path = '' } = request.params as { readonly '*'?: string };
      if (!pkg.files.has(path)) throw notFound('The package that is kept has no such file');
      return sendFile(request, reply, pkg, path);
    }),
  });
}

const filesOf = (pkg: KoPackage): object[] =>
  [...pkg.files.values()].map(({ path, size }) => ({ path, size, digest: pkg.digestOf(path) }));

/** @throws notFound for what is no id. */
function idIn(request: FastifyRequest): KoId {
  const { naan = '', name = '', version = '' } = request.params as Record<string, string>;
  if (![naan, name, version].every(isKoPart))
    throw notFound(`There is no knowledge object ${namedIn(request)} on the shelf`);
  return { naan, name, version };
}

function namedIn(request: FastifyRequest): string {
  const { naan = '', name = '', version = '' } = request.params as Record<string, string>;
  return `${naan}/${name}/${version}`;
}

function send(request: FastifyRequest, reply: FastifyReply, body: object): FastifyReply {
  const text = escapeSteering(JSON.stringify(body));
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
  void reply
    .headers({ 'cache-control': 'no-cache', etag, vary: 'Authorization' })
    .type('application/json; charset=utf-8');
  return matchesEtag(request.headers['if-none-match'], etag) ? reply.code(304).send() : reply.send(text);
}
