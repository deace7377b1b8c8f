/** Whom a request is for must be said once: what lies between a client and this service may read another one of two. */
import type { IncomingMessage } from 'node:http';
import { malformedRequest } from '../lib/errors.ts';
import type { FastPath } from './fast-path.ts';
import type { RequestGate } from './request-gate.ts';

const SLASH = 47;

/** Answers 400 to a request that names no host, or more than one. */
export function refuseOddHosts(gate: RequestGate): FastPath {
  return (request, response, next) => {
    const problem = hostProblem(request);
    if (problem === undefined) return next(request, response);
    // Its body is not read.
    const entered = {
      id: gate.enter(request),
      start: performance.now(),
      series: gate.seriesOf(undefined, request.method),
    };
    gate.refuse(request, response, entered, malformedRequest(problem), { connection: 'close' });
  };
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
