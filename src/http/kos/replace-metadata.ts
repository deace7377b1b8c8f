/** `PUT /kos/{naan}/{name}/{version}`. */
import type { FastifyRequest } from 'fastify';
import { koKey } from '../../knowledge-object/id.ts';
import { tooManyValues } from '../../knowledge-object/metadata.ts';
import { messageOf, metadataNotReadable } from '../../lib/errors.ts';
import { audit, authorOf } from '../access/audit.ts';
import { atIdOf } from '../access/audited-names.ts';
import { requireJson, textBody } from '../body.ts';
import type { Operation } from '../methods.ts';
import { packageDigestOf } from '../../shelf/package-digest.ts';
import { PACKAGE_DIGEST_HEADER } from '../headers.ts';
import type { KoContext } from './ko-context.ts';
import { idOf, requireKo } from './ko-params.ts';
import { metadataText, sendJson } from './metadata-answer.ts';
import { expectedTags } from './send-ko.ts';

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
