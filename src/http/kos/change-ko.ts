/** `DELETE /kos/{naan}/{name}/{version}`. */
import type { FastifyRequest } from 'fastify';
import { koKey } from '../../knowledge-object/id.ts';
import { tooManyValues } from '../../knowledge-object/metadata.ts';
import { koNotFound, malformedRequest, messageOf, metadataNotReadable } from '../../lib/errors.ts';
import { packageDigestOf } from '../../shelf/package/package-content.ts';
import { atIdOf, audit, authorOf } from '../access/audit.ts';
import { requireJson, textBody } from '../body.ts';
import { PACKAGE_DIGEST_HEADER } from '../headers.ts';
import type { Handler, Operation } from '../methods.ts';
import { idOf, isId, requireKo, type KoContext } from './ko-context.ts';
import { expectedTags, metadataText, sendJson } from './read-ko.ts';

export const deleteKo = ({ shelf, activator }: KoContext): Operation => ({
  access: 'shelf-write',
  handler: async (request, reply) => {
    const id = idOf(request);
    const entry = await requireKo(shelf, id);
    await shelf.remove(id, expectedTags(request), authorOf(request));
    audit(request, { action: 'delete', subject: koKey(id), ...atIdOf(entry), digest: entry.digest, outcome: 'done' });
    // "A package's files go away only when neither the shelf nor an active endpoint refers to them."
    const isActive = activator.set
      .ofName(id)
      .some((each) => each.ko.key === koKey(id) && each.status !== 'FAILED_TO_ACTIVATE');
    if (isActive) void reply.header('KGrid-Still-Active', 'true');
    return reply.code(204).send();
  },
});

/** `PUT /kos/{naan}/{name}/{version}`. */
export const replaceMetadata = ({ shelf, limits }: KoContext): Operation => ({
  access: 'shelf-write',
  handler: async (request, reply) => {
    const id = idOf(request);
    const before = await requireKo(shelf, id);
    requireJson(request);
    const text = readMetadata(request, limits.metadata);
    const entry = await shelf.replaceMetadata(id, text, expectedTags(request), authorOf(request));
    audit(request, {
      action: 'replace metadata',
      subject: koKey(id),
      ...atIdOf(entry),
      digest: entry.digest,
      ...(before.digest === entry.digest ? {} : { Replaced: `sha256:${before.digest}, sha256:${entry.digest}` }),
      outcome: 'done',
    });
    void reply.header(PACKAGE_DIGEST_HEADER, packageDigestOf(entry));
    return sendJson(request, reply, Buffer.from(metadataText(entry)), entry.etag);
  },
});

/** "400 when the body cannot be parsed": any JSON object will do. */
function readMetadata(request: FastifyRequest, maxBytes: number): string {
  let text: string;
  let value: unknown;
  try {
    text = textBody(request);
    if (Buffer.byteLength(text) > maxBytes)
      throw metadataNotReadable(`it is larger than the limit of ${maxBytes} bytes (--max-metadata)`);
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

/** `POST /kos/{naan}/{name}/{version}/restore`. */
export const restoreKo = ({ shelf }: KoContext): Operation => ({
  access: 'shelf-write',
  handler: async (request, reply) => {
    const id = idOf(request);
    const subject = koKey(id);
    if (!isId(id)) throw koNotFound(subject);
    try {
      const digest = askedDigest(request);
      const isNew = (await shelf.find(id)) === undefined;
      const { entry, replaced } = await shelf.restore(id, {
        digest,
        ifMatch: expectedTags(request),
        author: authorOf(request),
      });
      const digests = replaced === undefined ? undefined : `sha256:${replaced}, sha256:${entry.digest}`;
      audit(request, {
        action: 'restore',
        subject,
        ...atIdOf(entry),
        digest: entry.digest,
        ...(digests === undefined ? {} : { Replaced: digests }),
        outcome: 'done',
      });
      if (digests !== undefined) void reply.header('KGrid-Replaced', digests);
      return await reply
        .code(isNew ? 201 : 200)
        .headers({ location: `/kos/${subject}`, etag: entry.etag, [PACKAGE_DIGEST_HEADER]: packageDigestOf(entry) })
        .send({ Restored: `${subject}/` });
    } catch (thrown) {
      audit(request, { action: 'restore', subject, outcome: 'failed' });
      throw thrown;
    }
  },
});

/** A file of that name can be read all the same. */
export const asFileNamed =
  (name: string, handler: Handler): Handler =>
  (request, reply) => {
    Object.assign(request.params as object, { '*': name });
    return handler(request, reply);
  };

/** In the query or in a body, as hex with or without `sha256:`; undefined: the latest. @throws malformedRequest. */
function askedDigest(request: FastifyRequest): string | undefined {
  const { digest: inQuery } = request.query as Readonly<Record<string, unknown>>;
  const inBody = digestInBody(request);
  if (inQuery !== undefined && inBody !== undefined)
    throw malformedRequest('The digest is given in the query and in the body: leave one of them out');
  const asked = inQuery ?? inBody;
  if (asked === undefined) return undefined;
  const [, hex] = typeof asked === 'string' ? (/^(?:sha256:)?([0-9a-f]{64})$/i.exec(asked) ?? []) : [];
  if (hex === undefined)
    throw malformedRequest(
      'digest must be that of a package, sha256:<64 hex digits>, as GET /actuator/removed names it',
    );
  return hex.toLowerCase();
}

function digestInBody(request: FastifyRequest): unknown {
  const text = textBody(request);
  if (text.trim() === '') return undefined;
  requireJson(request);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw malformedRequest(`The body is not JSON: ${messageOf(thrown)}`, { cause: thrown });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformedRequest('The body must be a JSON object such as {"digest": "sha256:…"}, or empty');
  return 'digest' in value ? value.digest : undefined;
}
