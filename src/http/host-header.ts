/** Whom a request is for must be said once: what lies between a client and this service may read another one of two. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { malformedRequest } from '../lib/errors.ts';

const SLASH = 47;

/** Refuses requests that name no host, or more than one, in the form of their route. Call it before access is decided. */
export function refuseOddHosts(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const problem = hostProblem(raw);
    // Its body is not read.
    done(problem === undefined ? undefined : malformedRequest(problem, { headers: { connection: 'close' } }));
  });
}

/** https://www.rfc-editor.org/rfc/rfc9112#section-3.2 */
export function hostProblem({ rawHeaders, httpVersion, url = '', headers }: HostedRequest): string | undefined {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  if (hosts > 1) return 'The request has more than one Host header';
  if (hosts === 0) return httpVersion === '1.1' ? 'The request has no Host header' : undefined;
  if (url.charCodeAt(0) === SLASH || url === '*') return undefined;
  const target = URL.parse(url);
  if (target === null || target.host === '') return undefined;
  const agrees = URL.parse(`${target.protocol}//${headers.host ?? ''}`)?.host === target.host;
  return agrees ? undefined : 'The URL of the request and its Host header name different hosts';
}

export type HostedRequest = Pick<IncomingMessage, 'rawHeaders' | 'httpVersion' | 'url' | 'headers'>;
