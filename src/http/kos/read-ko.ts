/** `GET /kos/{naan}/{name}/{version}`, `/kos/{naan}/{name}?v={version}`, and, without one, the newest version. */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../../activation/activator.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { binaryNotFound, koNotFound, ServiceError } from '../../lib/errors.ts';
import { preferredType } from '../../lib/preferred-type.ts';
import { digestOf, withoutMark } from '../../lib/text.ts';
import { exportPackage } from '../../shelf/export/export-package.ts';
import { packageDigestOf } from '../../shelf/package/package-content.ts';
import type { KoPackage, Shelf, ShelfEntry } from '../../shelf/shelf.ts';
import { prefixOf } from '../address.ts';
import { askedVersion, matchesEtag, PACKAGE_DIGEST_HEADER, tagsOf } from '../headers.ts';
import type { Handler } from '../methods.ts';
import { sendFile } from '../send-file.ts';
import { idOf, isId, paramsOf, requireKo, shelfFor, type KoContext } from './ko-context.ts';

export const readKo =
  ({ shelf }: KoContext): Handler =>
  async (request, reply) => {
    const seen = shelfFor(request, shelf);
    return sendKo(request, reply, seen, await requireKo(seen, idOf(request)));
  };

export const readAnyVersion =
  ({ shelf }: KoContext): Handler =>
  async (request, reply) => {
    const { naan, name } = paramsOf(request);
    const v = askedVersion(request);
    const seen = shelfFor(request, shelf);
    const entry =
      v === undefined ? (await seen.versions(naan, name)).at(-1) : await seen.find({ naan, name, version: v });
    if (entry !== undefined) return sendKo(request, reply, seen, entry);
    const missing = koNotFound([naan, name, v ?? ''].filter((part) => part !== '').join('/'));
    // "Currently 500 server error if the KO is not found."
    throw v !== undefined && wantsZip(request)
      ? new ServiceError(missing.code, 500, 'Internal Server Error', missing.message)
      : missing;
  };

// "By ARK identifier": one KO by redirect, or an array with all versions.

const PREFIX = 'ark:';

/** The handler, for paths that begin with no ARK. */
export const orArk =
  (context: KoContext, handler: Handler): Handler =>
  (request, reply) =>
    paramsOf(request).naan.startsWith(PREFIX) ? readArk(context, request, reply) : handler(request, reply);

async function readArk(
  { shelf: all, lists }: KoContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const shelf = shelfFor(request, all);
  const { naan: first, name: second, version: third = '', '*': rest = '' } = paramsOf(request);
  const parts = [first.slice(PREFIX.length), second, third, rest].filter((part) => part !== '');
  const [naan = '', name = '', version] = parts;
  if (parts.length === 3 && version !== undefined) {
    await requireKo(shelf, { naan, name, version });
    return reply.redirect(`${prefixOf(request)}/kos/${naan}/${name}/${version}${queryOf(request.url)}`, 302);
  }
  const versions = parts.length === 2 ? await shelf.versions(naan, name) : [];
  if (versions.length === 0) throw koNotFound(parts.join('/'));
  return lists.versions(request, reply, { naan, name }, versions);
}

/** With its question mark; empty where there is none. */
const queryOf = (url: string): string => (url.includes('?') ? url.slice(url.indexOf('?')) : '');

/** `GET /kos/{naan}/{name}/{version}/{file}`. */
export const readFile =
  ({ shelf, activator }: KoContext): Handler =>
  async (request, reply) => {
    const { '*': path = '' } = paramsOf(request);
    const id = idOf(request);
    const opened = isId(id) ? await shelfFor(request, shelf).open(id) : undefined;
    const pkg = opened?.files.has(path) === false ? withMadeDescriptor(activator, opened, path) : opened;
    if (pkg === undefined) {
      opened?.release();
      throw binaryNotFound(koKey(id), path);
    }
    reply.raw.once('close', () => pkg.release());
    return sendFile(request, reply, pkg, path);
  };

/** The service descriptor of a library, which is not in its package: it is read as if it were. */
type Loaded = Pick<Activator, 'loadedKo'>;

/** Its path in the package; undefined where the knowledge object has no library that is served. */
export const madeDescriptor = (activator: Loaded, pkg: KoPackage): string | undefined =>
  activator.loadedKo(koKey(pkg.entry.id))?.library?.file;

/** The package with it; undefined where the path is another. */
export function withMadeDescriptor(activator: Loaded, pkg: KoPackage, path: string): KoPackage | undefined {
  const content = activator.loadedKo(koKey(pkg.entry.id))?.made(path);
  if (content === undefined) return undefined;
  const digest = digestOf(content.toString());
  return {
    entry: { ...pkg.entry, digest },
    files: new Map([[path, { path, size: content.length }]]),
    digestOf: () => undefined,
    read: () => Promise.resolve(content),
    stream: (_path, range) =>
      Promise.resolve(Readable.from([range === undefined ? content : content.subarray(range.start, range.end + 1)])),
    release: () => pkg.release(),
  };
}

/** Sends a KO: its metadata, or its package as a zip. */
export async function sendKo(
  request: FastifyRequest,
  reply: FastifyReply,
  shelf: Pick<Shelf, 'open'>,
  entry: ShelfEntry,
): Promise<unknown> {
  if (!wantsZip(request)) {
    void reply.header(PACKAGE_DIGEST_HEADER, packageDigestOf(entry));
    void reply.header('content-location', `/kos/${koKey(entry.id)}`);
    return sendJson(request, reply, Buffer.from(metadataText(entry)), entry.etag);
  }
  const pkg = await shelf.open(entry.id);
  if (pkg === undefined) throw koNotFound(koKey(entry.id));
  reply.raw.once('close', () => pkg.release());
  const etag = zipTag(pkg.entry.etag);
  void reply.headers({ etag, vary: 'Accept', [PACKAGE_DIGEST_HEADER]: packageDigestOf(pkg.entry) });
  if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  const { fileName, stream } = exportPackage(pkg);
  void reply.headers({
    'content-type': 'application/zip',
    'content-disposition': `attachment; filename="${fileName}"`,
  });
  if (request.method !== 'HEAD') return reply.send(stream);
  stream.destroy();
  return reply.send();
}

/** "The zip is selected by `Accept: application/zip`", or by `?format=zip` for links. */
function wantsZip(request: FastifyRequest): boolean {
  const { format } = request.query as { format?: string };
  if (format === 'zip') return true;
  return preferredType(request.headers.accept, ['application/json', 'application/zip']) === 'application/zip';
}

/** Tags of different representations must differ, or a cache would take one for the other. */
const zipTag = (etag: string): string => etag.replace(/"$/, '-zip"');

/** `If-Match` may have the tag of the metadata or that of the zip: both tell the same state of the KO. */
export const expectedTags = (request: FastifyRequest): string[] | undefined =>
  tagsOf(request.headers['if-match'])?.map((tag) => tag.replace(/-zip"$/, '"'));

// How metadata is answered: with what lets clients keep it, and ask whether it has changed.

/** Metadata as it was imported or put; a byte order mark is no JSON. */
export const metadataText = ({ metadata }: ShelfEntry): string => withoutMark(metadata);

export const METADATA_HEADERS = {
  'content-type': 'application/json',
  vary: 'Accept',
  'cache-control': 'no-cache',
} as const;

/** Metadata, or a list of them; 304 where the client has them. */
export function sendJson(request: FastifyRequest, reply: FastifyReply, body: Buffer, etag?: string): FastifyReply {
  void reply.headers(METADATA_HEADERS);
  if (etag !== undefined) {
    void reply.header('etag', etag);
    if (request.method !== 'PUT' && matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  }
  return reply.send(body);
}
