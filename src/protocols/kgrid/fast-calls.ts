/**
 * Nearly all calls are plain: a program POSTs to an active endpoint, spelled as its id is. They are answered before the
 * router sees them, because its look-up and its hooks cost as much as the whole call. Each gets the answer that the
 * route gives; what is not plain goes there.
 */
import type { Activator } from '../../activation/activator.ts';
import type { IncomingMessage } from 'node:http';
import { recordTypeOf } from '../../execution/batch/record-lines.ts';
import { certificateOf } from '../../identity/certificate.ts';
import type { Principal } from '../../identity/principal.ts';
import type { Bodies } from '../../http/body.ts';
import type { FastPath } from '../../http/fast-path.ts';
import { EXECUTION_ID_HEADER, PACKAGE_DIGEST_HEADER } from '../../http/headers.ts';
import type { RequestGate } from '../../http/request-gate.ts';
import type { Identity } from '../../identity/identity.ts';
import { RESERVED_NAANS } from '../../knowledge-object/id.ts';
import { packageDigestOf } from '../../shelf/package/package-content.ts';
import type { HttpCalls, Target } from './calls.ts';
import { EXECUTION_ROUTE } from './execution-routes.ts';

export interface FastCallsOptions {
  readonly activator: Activator;
  readonly identity: Identity;
  readonly calls: HttpCalls;
  readonly bodies: Bodies;
  readonly gate: RequestGate;
}

/** Undefined where that is not known yet. */
function knownIn(identity: Identity, { headers: { authorization }, socket }: IncomingMessage): Principal | undefined {
  if (!identity.hasLogin) return identity.anybody;
  if (authorization !== undefined) return identity.known(authorization);
  return certificateOf(socket) === undefined ? identity.anybody : undefined;
}

export function fastCalls({ activator, identity, calls, bodies, gate }: FastCallsOptions): FastPath {
  const series = gate.seriesOf(EXECUTION_ROUTE, 'POST');
  const { limits } = identity;
  return (request, response, next) => {
    const { method, url = '', headers } = request;
    // What the page of a site may read of an answer, the route knows.
    if (method !== 'POST' || headers.origin !== undefined) return next(request, response);
    if (recordTypeOf(headers['content-type']) !== undefined) return next(request, response);
    const { set } = activator;
    const endpoint = set.versioned(url.slice(1));
    if (endpoint?.ready() === undefined || RESERVED_NAANS.has(endpoint.ko.id.naan)) return next(request, response);
    // Credentials that were not verified a moment ago are for the route, which waits for their check.
    const principal = knownIn(identity, request);
    if (principal === undefined || !identity.allows(principal, 'execution', endpoint.ko.id))
      return next(request, response);
    const start = performance.now();
    const id = gate.enter(request);

    let target: Target | undefined;
    const answered = (): void => series.observe(200, (performance.now() - start) / 1000);
    const refuse = (thrown: unknown): void =>
      gate.refuse(request, response, { id, start, series }, thrown, {
        [PACKAGE_DIGEST_HEADER]: packageDigestOf(endpoint.ko.entry),
        ...(target && { [EXECUTION_ID_HEADER]: target.trace.executionId }),
      });
    try {
      if (limits !== undefined)
        for (const [name, value] of Object.entries(limits.take(principal, request.socket.remoteAddress)))
          response.setHeader(name, value);
      const accepted = (target = calls.accept(request, endpoint, set, id, principal));
      bodies.collect(request, (error, body) => {
        // Called from the socket: nobody else would catch what is thrown.
        try {
          if (body === undefined) refuse(error);
          else calls.run(request, response, accepted, body).then(answered).catch(refuse);
        } catch (thrown) {
          refuse(thrown);
        }
      });
    } catch (thrown) {
      refuse(thrown);
    }
  };
}
