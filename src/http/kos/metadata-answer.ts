/** How metadata is answered: with what lets clients keep it, and ask whether it has changed. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { withoutMark } from '../../lib/byte-order-mark.ts';
import type { ShelfEntry } from '../../shelf/shelf.ts';
import { matchesEtag } from '../conditional.ts';

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
