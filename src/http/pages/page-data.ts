/** What the pages ask beside the interface for programs: whether anything changed, and what one package holds. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../../activation/activator.ts';
import { isKoPart, koKey } from '../../knowledge-object/id.ts';
import { visibleSet, visibleShelf } from '../../identity/visible.ts';
import { digestOf } from '../../lib/text.ts';
import { notFound } from '../../lib/errors.ts';
import type { KoPackage, Shelf, ShelfEntry } from '../../shelf/shelf.ts';
import { matchesEtag } from '../headers.ts';
import { madeDescriptor } from '../kos/read-ko.ts';
import { declare } from '../methods.ts';
import { aboutAnswer } from './about-answer.ts';
import { OwnPages } from './own-pages.ts';

export interface PageDataOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  /** The same text as long as neither the shelf nor what is active changed. */
  readonly catalogue: () => Promise<string>;
  /** What needs a login: calls, and why something does not run. */
  readonly login: { readonly execution: boolean; readonly details: boolean };
}

export function pageDataRoutes(app: FastifyInstance, { activator, shelf, login, catalogue }: PageDataOptions): void {
  const ownPages = new OwnPages(shelf, activator);

  /** Says that something has a problem, never which: whoever may see details reads them in the health of the service. */
  const overview = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (!activator.loaded) await activator.whenLoaded();
    const { grants } = request.principal;
    const state = grants.everywhere('read') ? '' : `-${digestOf(grants.key).slice(0, 16)}`;
    return send(request, reply, `${await catalogue()}${state}`, async () => {
      const { failures, withoutEndpoints } = visibleSet(activator.set, grants);
      const seen = visibleShelf(shelf, grants);
      const entries = await seen.list();
      return {
        problems: failures.map(({ id }) => koKey(id)),
        withoutEndpoints: withoutEndpoints.map(({ id }) => koKey(id)),
        places: placesOf(entries),
        pages: await ownPages.among(entries),
        unreadable: seen.damage().length,
        login,
      };
    });
  };

  const ofPackage =
    (what: string, tell: (pkg: KoPackage, made: string | undefined) => object) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const { naan = '', name = '', version = '' } = request.params as Record<string, string>;
      const seen = visibleShelf(shelf, request.principal.grants);
      const pkg = [naan, name, version].every(isKoPart) ? await seen.open({ naan, name, version }) : undefined;
      if (pkg === undefined) throw notFound(`There is no knowledge object ${naan}/${name}/${version} on the shelf`);
      try {
        const made = madeDescriptor(activator, pkg);
        const state = `${pkg.entry.digest.slice(0, 32)}-${pkg.files.size}-${what}${made === undefined ? '' : '-made'}`;
        return await send(request, reply, state, () => tell(pkg, made));
      } finally {
        pkg.release();
      }
    };
  const filesOf = ({ files }: KoPackage): object => [...files.values()].map(({ path, size }) => ({ path, size }));

  declare(app, '/doc/overview.json', { GET: { access: 'read', handler: overview } });
  declare(app, '/doc/files/:naan/:name/:version', {
    GET: { access: 'read', handler: ofPackage('files', filesOf) },
  });
  declare(app, '/doc/about/:naan/:name/:version', {
    GET: { access: 'read', handler: ofPackage('about', aboutAnswer) },
  });
}

/** Where the KOs stand whose `@id` does not say so, by this, in the order of `GET /kos`. */
function placesOf(entries: readonly ShelfEntry[]): Record<string, string[]> {
  const places = new Map<string, string[]>();
  for (const { id, atId } of entries) {
    if (atId !== undefined) places.set(atId, [...(places.get(atId) ?? []), koKey(id)]);
  }
  return Object.fromEntries(places);
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  state: string,
  body: () => object | Promise<object>,
): Promise<FastifyReply> {
  const etag = `"${state}"`;
  void reply.headers({ 'cache-control': 'no-cache', etag });
  return matchesEtag(request.headers['if-none-match'], etag) ? reply.code(304).send() : reply.send(await body());
}
