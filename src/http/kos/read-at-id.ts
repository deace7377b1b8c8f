/** `/kos/<@id>`, `/kos/<@id>/service` and `/kos/<@id>/doc`: what is on the shelf, by its name instead of by its place. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { deployedServices } from '../../knowledge-object/deployed-services.ts';
import { koKey, parseKoId } from '../../knowledge-object/id.ts';
import { parseMetadata } from '../../knowledge-object/metadata.ts';
import { behindFirst, readingsOf, spellingsOf, textsOf } from '../../knowledge-object/places.ts';
import { binaryNotFound, methodNotAllowed, notFound, ServiceError } from '../../lib/errors.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { pathOf } from '../../lib/url-path.ts';
import { entryOfAtId } from '../../shelf/entry-of-at-id.ts';
import { packageDigestOf } from '../../shelf/package/package-content.ts';
import type { Shelf, ShelfEntry } from '../../shelf/shelf.ts';
import { prefixOf } from '../address.ts';
import { askedVersion, PACKAGE_DIGEST_HEADER } from '../headers.ts';
import type { Handler } from '../methods.ts';
import { sendFile } from '../send-file.ts';
import { type KoContext, shelfFor } from './ko-context.ts';
import { madeDescriptor, sendKo, withMadeDescriptor } from './read-ko.ts';

/** What is there beside the metadata. */
const PARTS = ['service', 'doc'] as const;

interface Named {
  readonly atId: string;
  readonly entry: ShelfEntry;
  /** Undefined for the KO itself. */
  readonly part?: (typeof PARTS)[number];
}

/** "First mean what the specification says (a file of that name wins), then the `@id`." */
export const orAtId =
  (context: KoContext, handler: Handler): Handler =>
  async (request, reply) => {
    try {
      return await handler(request, reply);
    } catch (thrown) {
      if (!isMissing(thrown)) throw thrown;
      const named = await namedBy(context.shelf, request);
      if (named === undefined) throw thrown;
      return send(context, request, reply, named);
    }
  };

/** "PUT and DELETE there are 405 naming the place." */
export async function refusedAtId(shelf: Shelf, request: FastifyRequest): Promise<Error | undefined> {
  const named = await namedBy(shelf, request);
  if (named === undefined) return undefined;
  const { atId, entry, part } = named;
  // It was not in its place when that was asked for, and came there meanwhile.
  if (part === undefined && atId === koKey(entry.id)) return undefined;
  const refused = methodNotAllowed(request.method, pathOf(request.url), ['GET', 'HEAD']);
  const place = `/kos/${koKey(entry.id)}`;
  return new ServiceError(
    refused.code,
    refused.status,
    refused.title,
    `${refused.message}; the place of ${escapeForMessage(atId)} on the shelf is ${place}`,
    { headers: refused.headers },
  );
}

/** For changes of a KO by its place: what is not there may be an `@id`. */
export const orRefusedAtId =
  ({ shelf }: KoContext, handler: Handler): Handler =>
  async (request, reply) => {
    try {
      return await handler(request, reply);
    } catch (thrown) {
      throw (isMissing(thrown) ? await refusedAtId(shelf, request) : undefined) ?? thrown;
    }
  };

const isMissing = (thrown: unknown): boolean => thrown instanceof ServiceError && MISSING.has(thrown.code);
const MISSING: ReadonlySet<string> = new Set(['ko-not-found', 'binary-not-found', 'not-found']);

async function namedBy(all: Shelf, request: FastifyRequest): Promise<Named | undefined> {
  const shelf = shelfFor(request, all);
  const written = behindFirst(request.url);
  const v = askedVersion(request);
  for (const atId of textsOf(written).flatMap(spellingsOf)) {
    const entry = await entryOfAtId(shelf, atId, v);
    if (entry !== undefined) return { atId, entry };
  }
  for (const { atId, rest } of readingsOf(written, 1)) {
    const part = PARTS.find((each) => each === rest);
    const place = parseKoId(atId);
    const entry = part && ((place && (await shelf.find(place))) ?? (await entryOfAtId(shelf, atId, v)));
    if (part !== undefined && entry !== undefined) return { atId, entry, part };
  }
  return undefined;
}

async function send(
  { shelf, activator }: KoContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { entry, part }: Named,
): Promise<unknown> {
  // It was found among what the request may see.
  if (part === undefined) return sendKo(request, reply, shelf, entry);
  const key = koKey(entry.id);
  const pkg = await shelf.open(entry.id);
  if (pkg === undefined) throw binaryNotFound(key, part);
  try {
    const { descriptor: own } = deployedServices(parseMetadata(pkg.entry.metadata, pkg.entry.id.naan), pkg.files);
    const descriptor = madeDescriptor(activator, pkg) ?? own;
    const holder =
      descriptor === undefined || pkg.files.has(descriptor) ? pkg : withMadeDescriptor(activator, pkg, descriptor);
    if (descriptor === undefined || holder?.files.has(descriptor) !== true)
      throw notFound(`The knowledge object ${key} has no service descriptor`);
    const path = `/kos/${key}/${descriptor.split('/').map(encodeURIComponent).join('/')}`;
    // Given with its place, the page is the one that the listings lead to.
    if (part === 'doc') return await reply.redirect(`${prefixOf(request)}/doc?url=${encodeURIComponent(path)}`, 302);
    void reply.headers({ 'content-location': path, [PACKAGE_DIGEST_HEADER]: packageDigestOf(pkg.entry) });
    return await sendFile(request, reply, holder, descriptor);
  } finally {
    reply.raw.once('close', () => pkg.release());
    if (reply.raw.closed) pkg.release();
  }
}
