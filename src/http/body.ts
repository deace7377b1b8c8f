/** Bodies arrive as bytes and are read by the route that knows what they should be. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isUtf8 } from 'node:buffer';
import { bodyNotReadable, unsupportedMediaType } from '../lib/errors.ts';

export function installBodyParser(app: FastifyInstance, limit: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: limit }, (_request, body, done) => done(null, body));
}

/** The body as text. @throws bodyNotReadable when it is not UTF-8. */
export function textBody(request: FastifyRequest): string {
  const body: unknown = request.body;
  if (!Buffer.isBuffer(body)) return '';
  if (!isUtf8(body)) throw bodyNotReadable('The request body is not valid UTF-8');
  return body.toString('utf8');
}

/** Media type without its parameters, in lower case. */
export const mediaTypeOf = (header: string | undefined): string => {
  const end = header?.indexOf(';') ?? -1;
  return (end < 0 ? (header ?? '') : (header ?? '').slice(0, end)).trim().toLowerCase();
};

/** JSON itself and types that end with `+json`. */
export const isJson = (mediaType: string): boolean => /^(application|text)\/json$|\+json$/.test(mediaType);

/** @throws unsupportedMediaType unless the request's body is declared as JSON. */
export function requireJson(request: FastifyRequest): void {
  const type = mediaTypeOf(request.headers['content-type']);
  if (isJson(type)) return;
  throw unsupportedMediaType(
    `The body must be JSON: send Content-Type: application/json${type === '' ? '' : ` instead of ${type}`}`,
  );
}
