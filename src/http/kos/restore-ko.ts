/** `POST /kos/{naan}/{name}/{version}/restore`. */
import type { FastifyRequest } from 'fastify';
import { koKey } from '../../knowledge-object/id.ts';
import { koNotFound, malformedRequest, messageOf } from '../../lib/errors.ts';
import { audit, authorOf } from '../access/audit.ts';
import { atIdOf } from '../access/audited-names.ts';
import { requireJson, textBody } from '../body.ts';
import type { Handler, Operation } from '../methods.ts';
import { packageDigestOf } from '../../shelf/package-digest.ts';
import { PACKAGE_DIGEST_HEADER } from '../headers.ts';
import type { KoContext } from './ko-context.ts';
import { idOf, isId } from './ko-params.ts';
import { expectedTags } from './send-ko.ts';

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
