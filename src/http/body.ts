/** Bodies arrive as bytes and are read by the route that knows what they should be. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isUtf8 } from 'node:buffer';
import {
  bodyNotReadable,
  bodyTooLarge,
  malformedRequest,
  requestTimedOut,
  unsupportedMediaType,
} from '../lib/errors.ts';

export interface BodyLimits {
  readonly bytes: number;
  /** Milliseconds in which a body must have arrived. */
  readonly time: number;
}

const LOOK_AGAIN = 500;

/** A body that is still on its way. */
interface Arriving {
  readonly since: number;
  readonly stop: (error: Error) => void;
}

/**
 * Every body but an upload is collected whole, within its limits. The server's own clock is set for uploads; one
 * sweep over what is on its way costs less than a timer for each request.
 */
export function installBodyParser(app: FastifyInstance, limits: BodyLimits): void {
  const arriving = new Set<Arriving>();
  const sweep = setInterval(() => {
    const oldest = Date.now() - limits.time;
    for (const each of arriving)
      if (each.since < oldest)
        each.stop(requestTimedOut(`The body did not arrive within ${limits.time / 1000} s (--request-timeout)`));
  }, LOOK_AGAIN);
  sweep.unref();
  app.addHook('onClose', (_app, done) => {
    clearInterval(sweep);
    done();
  });
  const tooLarge = (): Error =>
    bodyTooLarge(`The body is larger than the limit of ${limits.bytes} bytes (--max-body)`, CLOSE);

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, payload, done) => {
    if (Number(request.headers['content-length'] ?? 0) > limits.bytes) {
      done(tooLarge());
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (error: Error | null): void => {
      if (!arriving.delete(entry)) return;
      payload.removeListener('data', onData);
      if (error === null) done(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
      else done(error);
    };
    const entry: Arriving = { since: Date.now(), stop: finish };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > limits.bytes) finish(tooLarge());
    };
    arriving.add(entry);
    payload.on('data', onData);
    payload.once('end', () => finish(null));
    payload.once('error', (error: Error) => finish(malformedRequest('The body broke off', { cause: error })));
    payload.once('close', () => finish(malformedRequest('The body broke off')));
  });
}

/** What is left of the body is not read, so the connection cannot serve another request. */
const CLOSE = { headers: { connection: 'close' } };

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
