/** Sends a KO: its metadata, or its package as a zip. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { koKey } from '../../knowledge-object/id.ts';
import { koNotFound } from '../../lib/errors.ts';
import { exportPackage } from '../../shelf/export/export-package.ts';
import type { Shelf, ShelfEntry } from '../../shelf/shelf.ts';
import { preferredType } from '../../lib/accept.ts';
import { matchesEtag, tagsOf } from '../conditional.ts';
import { packageDigestOf } from '../../shelf/package-digest.ts';
import { PACKAGE_DIGEST_HEADER } from '../headers.ts';
import { metadataText, sendJson } from './metadata-answer.ts';

export async function sendKo(
  request: FastifyRequest,
  reply: FastifyReply,
  shelf: Shelf,
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
export function wantsZip(request: FastifyRequest): boolean {
  const { format } = request.query as { format?: string };
  if (format === 'zip') return true;
  return preferredType(request.headers.accept, ['application/json', 'application/zip']) === 'application/zip';
}

/** Tags of different representations must differ, or a cache would take one for the other. */
const zipTag = (etag: string): string => etag.replace(/"$/, '-zip"');

/** `If-Match` may have the tag of the metadata or that of the zip: both tell the same state of the KO. */
export const expectedTags = (request: FastifyRequest): string[] | undefined =>
  tagsOf(request.headers['if-match'])?.map((tag) => tag.replace(/-zip"$/, '"'));
