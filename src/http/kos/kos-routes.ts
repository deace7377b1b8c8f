/** The Shelf API. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { binaryNotFound, koNotFound, metadataNotReadable, messageOf, ServiceError } from '../../lib/errors.ts';
import { tooManyValues } from '../../knowledge-object/metadata.ts';
import { isKoPart, koKey } from '../../knowledge-object/id.ts';
import type { KoId } from '../../knowledge-object/id.ts';
import { exportPackage } from '../../shelf/export/export-package.ts';
import type { ShelfEntry } from '../../shelf/shelf.ts';
import { audit } from '../access/audit.ts';
import { preferredType } from '../accept.ts';
import { prefixOf } from '../address.ts';
import { askedVersion } from '../asked-version.ts';
import { requireJson, textBody } from '../body.ts';
import { matchesEtag, tagsOf } from '../conditional.ts';
import type { EndpointTexts } from '../listings/endpoint-texts.ts';
import { declare } from '../methods.ts';
import { PACKAGE_DIGEST_HEADER, packageDigestOf } from '../package-digest.ts';
import { sendFile } from '../send-file.ts';
import { importByManifest, importByManifestList, importByZip } from './import-routes.ts';
import type { ImportOptions } from './import-routes.ts';
import { KoLists } from './ko-lists.ts';
import { metadataText, sendJson } from './metadata-answer.ts';

interface Named {
  readonly naan: string;
  readonly name: string;
  readonly version?: string;
  readonly '*'?: string;
}

export function kosRoutes(app: FastifyInstance, imports: ImportOptions, texts: EndpointTexts): void {
  const { shelf, limits, activator } = imports;
  const lists = new KoLists({ shelf, activator, texts });

  const find = async (id: KoId): Promise<ShelfEntry> => {
    const entry = await shelf.find(id);
    if (entry === undefined) throw koNotFound(koKey(id));
    return entry;
  };

  /** `/kos/<naan>/<name>` and `?v=`: the newest version where none is given. */
  const readAny = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { naan, name } = request.params as Named;
    const v = askedVersion(request);
    if (naan.startsWith('ark:'))
      return readArk(
        request,
        reply,
        [naan.slice(4), name].filter((part) => part !== ''),
      );
    const entry =
      v === undefined ? (await shelf.versions(naan, name)).at(-1) : await shelf.find({ naan, name, version: v });
    if (entry !== undefined) return sendKo(request, reply, entry);
    const missing = koNotFound([naan, name, v ?? ''].filter((part) => part !== '').join('/'));
    // "Currently 500 server error if the KO is not found."
    throw v !== undefined && wantsZip(request)
      ? new ServiceError(missing.code, 500, 'Internal Server Error', missing.message)
      : missing;
  };

  const readOne = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { naan, name, version = '' } = request.params as Named;
    if (naan.startsWith('ark:'))
      return readArk(
        request,
        reply,
        [naan.slice(4), name, version].filter((part) => part !== ''),
      );
    return sendKo(request, reply, await find({ naan, name, version }));
  };

  /** "By ARK identifier": one KO by redirect, or an array with all versions. */
  const readArk = async (request: FastifyRequest, reply: FastifyReply, parts: readonly string[]): Promise<unknown> => {
    const [naan = '', name = '', version] = parts;
    if (parts.length === 3 && version !== undefined) {
      await find({ naan, name, version });
      return reply.redirect(`${prefixOf(request)}/kos/${naan}/${name}/${version}${queryOf(request.url)}`, 302);
    }
    const versions = parts.length === 2 ? await shelf.versions(naan, name) : [];
    if (versions.length === 0) throw koNotFound(parts.join('/'));
    return lists.versions(request, reply, { naan, name }, versions);
  };

  const sendKo = async (request: FastifyRequest, reply: FastifyReply, entry: ShelfEntry): Promise<unknown> => {
    if (!wantsZip(request)) {
      void reply.header(PACKAGE_DIGEST_HEADER, packageDigestOf(entry));
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
  };

  const readFile = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { naan, name, version = '', '*': path = '' } = request.params as Named;
    if (naan.startsWith('ark:'))
      return readArk(
        request,
        reply,
        [naan.slice(4), name, version, path].filter((part) => part !== ''),
      );
    const id = { naan, name, version };
    const pkg = isId(id) ? await shelf.open(id) : undefined;
    if (pkg?.files.has(path) !== true) {
      pkg?.release();
      throw binaryNotFound(koKey(id), path);
    }
    reply.raw.once('close', () => pkg.release());
    return sendFile(request, reply, pkg, path);
  };

  const replaceMetadata = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const id = idOf(request);
    await find(id);
    requireJson(request);
    const text = readMetadata(request, limits.metadata);
    const entry = await shelf.replaceMetadata(id, text, expectedTags(request));
    audit(request, { action: 'replace metadata', subject: koKey(id), digest: entry.digest, outcome: 'done' });
    void reply.header(PACKAGE_DIGEST_HEADER, packageDigestOf(entry));
    return sendJson(request, reply, Buffer.from(metadataText(entry)), entry.etag);
  };

  const remove = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const id = idOf(request);
    const { digest } = await find(id);
    await shelf.remove(id, expectedTags(request));
    audit(request, { action: 'delete', subject: koKey(id), digest, outcome: 'done' });
    // "A package's files go away only when neither the shelf nor an active endpoint refers to them."
    const isActive = activator.set
      .ofName(id)
      .some((each) => each.ko.key === koKey(id) && each.status !== 'FAILED_TO_ACTIVATE');
    if (isActive) void reply.header('KGrid-Still-Active', 'true');
    return reply.code(204).send();
  };

  const read = (handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) => ({
    access: 'open' as const,
    handler,
  });
  declare(app, '/kos/:naan/:name', { GET: read(readAny) });
  declare(app, '/kos/:naan/:name/:version', {
    GET: read(readOne),
    PUT: { access: 'shelf-write', handler: replaceMetadata },
    DELETE: { access: 'shelf-write', handler: remove },
  });
  declare(app, '/kos/:naan/:name/:version/*', { GET: read(readFile) });
  declare(app, '/kos/:naan', {
    GET: read((request, reply) => lists.ofNaan(request, reply, (request.params as Named).naan)),
  });
  declare(app, '/kos', { GET: read((request, reply) => lists.all(request, reply)), POST: importByZip(imports) });
  declare(app, '/kos/manifest', { POST: importByManifest(imports) });
  declare(app, '/kos/manifest-list', { POST: importByManifestList(imports) });
}

/** With its question mark; empty where there is none. */
const queryOf = (url: string): string => (url.includes('?') ? url.slice(url.indexOf('?')) : '');

/** Tags of different representations must differ, or a cache would take one for the other. */
const zipTag = (etag: string): string => etag.replace(/"$/, '-zip"');

/** `If-Match` may have the tag of the metadata or that of the zip: both tell the same state of the KO. */
const expectedTags = (request: FastifyRequest): string[] | undefined =>
  tagsOf(request.headers['if-match'])?.map((tag) => tag.replace(/-zip"$/, '"'));

const isId = (id: KoId): boolean => isKoPart(id.naan) && isKoPart(id.name) && isKoPart(id.version);

function idOf(request: FastifyRequest): KoId {
  const { naan, name, version = '' } = request.params as Named;
  return { naan, name, version };
}

/** "The zip is selected by `Accept: application/zip`", or by `?format=zip` for links. */
function wantsZip(request: FastifyRequest): boolean {
  const { format } = request.query as { format?: string };
  if (format === 'zip') return true;
  return preferredType(request.headers.accept, ['application/json', 'application/zip']) === 'application/zip';
}

/** "400 when the body cannot be parsed": any JSON object will do. */
function readMetadata(request: FastifyRequest, limit: number): string {
  let text: string;
  let value: unknown;
  try {
    text = textBody(request);
    if (Buffer.byteLength(text) > limit)
      throw metadataNotReadable(`it is larger than the limit of ${limit} bytes (--max-metadata)`);
    const problem = tooManyValues(text);
    if (problem !== undefined) throw metadataNotReadable(`it ${problem}`);
    value = JSON.parse(text);
  } catch (thrown) {
    throw metadataNotReadable(`Cannot parse new metadata: ${messageOf(thrown)}`, { cause: thrown });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw metadataNotReadable('Cannot parse new metadata: it must be a JSON object');
  }
  return text;
}
