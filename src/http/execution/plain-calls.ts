/**
 * Nearly all calls are plain: a program POSTs to an active endpoint, spelled as its id is. They are answered before the
 * router sees them, because its look-up and its hooks cost as much as the whole call. Each gets the answer that the
 * route gives; what is not plain goes there.
 */
import type { FastifyBaseLogger } from 'fastify';
import type { Activator } from '../../activation/activator.ts';
import type { Bodies } from '../body.ts';
import { answerOf } from '../errors.ts';
import { PACKAGE_DIGEST_HEADER, packageDigestOf } from '../package-digest.ts';
import type { PlainWay } from '../plain-ways.ts';
import type { RequestIds } from '../request-ids.ts';
import type { Calls } from './calls.ts';

export interface PlainCallsOptions {
  readonly activator: Activator;
  readonly calls: Calls;
  readonly bodies: Bodies;
  readonly ids: RequestIds;
  readonly log: FastifyBaseLogger;
  /** Called for each request that the router never sees. */
  readonly onRequest: () => void;
}

/** For a service on which execution needs no login. */
export function plainCalls({ activator, calls, bodies, ids, log, onRequest }: PlainCallsOptions): PlainWay {
  return (request, response, next) => {
    const { method, url = '', headers } = request;
    // What the page of a site may read of an answer, the route knows.
    if (method !== 'POST' || headers.origin !== undefined) return next(request, response);
    const { set } = activator;
    const endpoint = set.versioned(url.slice(1));
    if (endpoint?.ready() === undefined) return next(request, response);
    onRequest();
    const id = ids.of(request);

    const refuse = (thrown: unknown): void => {
      const answer = answerOf(thrown, url, id, log);
      response.writeHead(answer.status, {
        ...answer.headers,
        [PACKAGE_DIGEST_HEADER]: packageDigestOf(endpoint.ko.package.entry),
        'content-length': Buffer.byteLength(answer.body),
      });
      response.end(answer.body);
    };
    try {
      const target = calls.accept(request, endpoint, set, id);
      bodies.collect(request, (error, body) => {
        if (body === undefined) refuse(error);
        else calls.run(request, response, target, body).catch(refuse);
      });
    } catch (thrown) {
      refuse(thrown);
    }
  };
}
