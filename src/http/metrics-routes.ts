/** Gives the series to Prometheus, in the form that it asks for. */
import type { FastifyInstance } from 'fastify';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import Negotiator from 'negotiator';
import { boundedAccept } from '../lib/accept.ts';
import type { Exposition } from '../metrics/exposition.ts';
import { MEDIA_TYPES } from '../metrics/text.ts';
import type { Format } from '../metrics/text.ts';
import { declare } from './methods.ts';

export interface MetricsRouteOptions {
  readonly exposition: Pick<Exposition, 'text'>;
  /** Without a login. */
  readonly isOpen: boolean;
}

/** Bytes from which it is worth the work. */
const LEAST_ZIPPED_BYTES = 2048;
/** Quick: the texts repeat themselves. */
const ZIP_LEVEL = 1;

export function metricsRoutes(app: FastifyInstance, { exposition, isOpen }: MetricsRouteOptions): void {
  const zipped = new WeakMap<Buffer, Promise<Buffer>>();
  const zip = (text: Buffer): Promise<Buffer> => {
    let bytes = zipped.get(text);
    if (bytes === undefined) zipped.set(text, (bytes = promisify(gzip)(text, { level: ZIP_LEVEL })));
    return bytes;
  };
  declare(app, '/actuator/prometheus', {
    GET: {
      access: isOpen ? 'open' : 'info',
      handler: async (request, reply) => {
        const format = formatFor(request.headers.accept);
        const text = await exposition.text(format);
        void reply
          .type(MEDIA_TYPES[format])
          .header('cache-control', 'no-store')
          .header('vary', 'Accept, Accept-Encoding');
        const mayZip = new Negotiator(request.raw).encodings(['gzip', 'identity'])[0] === 'gzip';
        if (text.length < LEAST_ZIPPED_BYTES || !mayZip) return reply.send(text);
        return reply.header('content-encoding', 'gzip').send(await zip(text));
      },
    },
  });
}

/**
 * Prometheus names versions and ways of escaping that it likes better or less; there is one of each form here. Who
 * accepts neither gets the text, as from every other program that Prometheus asks.
 */
export function formatFor(accept: string | undefined): Format {
  if (accept === undefined) return 'text';
  const plain = boundedAccept(accept)
    .split(',')
    .map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
      return [type, ...parameters.filter((each) => /^q=/i.test(each))].join(';');
    });
  const types = ['text/plain', 'application/openmetrics-text'];
  const liked = new Negotiator({ headers: { accept: plain.join(',') } }).mediaType(types);
  return liked === 'application/openmetrics-text' ? 'openmetrics' : 'text';
}
