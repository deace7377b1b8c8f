/** The Request API: `POST` runs an endpoint, `GET` reads a resource. Most calls never come here: see `fast-calls.ts`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../../activation/activator.ts';
import type { Endpoint } from '../../activation/endpoint.ts';
import {
  allowedAt,
  resourceAt,
  wantedByPath,
  type EndpointFinder,
  type Wanted,
} from '../../execution/find-endpoint.ts';
import { askedVersion, EXECUTION_ID_HEADER, PACKAGE_DIGEST_HEADER } from '../../http/headers.ts';
import { ROUTED, type Operation } from '../../http/methods.ts';
import { sendFile } from '../../http/send-file.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { binaryNotFound, endpointNotFound, methodNotAllowed } from '../../lib/errors.ts';
import { pathOf } from '../../lib/url-path.ts';
import { packageDigestOf } from '../../shelf/package/package-content.ts';
import type { Batches } from './batch/batches.ts';
import type { HttpCalls, Target } from './calls.ts';
import type { Identity } from '../../identity/identity.ts';
import { visibleSet } from '../../identity/visible.ts';

declare module 'fastify' {
  interface FastifyRequest {
    target: Target | undefined;
  }
}

/** Of calls and resources; the fast path answers for it too. */
export const EXECUTION_ROUTE = '/:naan/:name/*';

export interface ExecutionOptions {
  readonly activator: Activator;
  readonly identity: Identity;
  readonly finder: EndpointFinder;
  readonly calls: HttpCalls;
  readonly batches: Batches;
}

/** Runs an endpoint, wherever the request names it. */
export function executionOperation(
  { activator, identity, finder, calls, batches }: ExecutionOptions,
  wantedBy: (request: FastifyRequest) => Wanted,
): Operation {
  return {
    access: 'execution',
    options: {
      onRequest: async (request, reply) => {
        if (!activator.loaded) await activator.whenLoaded();
        const endpoint = await finder.require(wantedBy(request), request.principal);
        requireMayCall(identity, request, endpoint);
        void reply.header(PACKAGE_DIGEST_HEADER, packageDigestOf(endpoint.ko.entry));
        request.target = calls.accept(request.raw, endpoint, activator.set, request.id, request.principal);
        request.isStreamed = request.target.records !== undefined;
        void reply.header(EXECUTION_ID_HEADER, request.target.trace.executionId);
      },
    },
    handler: async (request, reply) => {
      const { target, body } = request;
      if (target === undefined) throw endpointNotFound(`No active endpoints found for ${pathOf(request.url)}`);
      if (target.records !== undefined) await batches.run(request.raw, reply.raw, target, target.records);
      else await calls.run(request.raw, reply.raw, target, Buffer.isBuffer(body) ? body : EMPTY);
      reply.hijack();
    },
  };
}

export function executionRoutes(app: FastifyInstance, options: ExecutionOptions): void {
  const { activator, identity, finder, calls } = options;

  const read = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const wanted = wantedOf(request);
    const { principal } = request;
    const endpoint = await finder.find(wanted, 'get', principal);
    const set = visibleSet(activator.set, principal.grants);
    if (endpoint?.entry.method === 'get' && endpoint.status === 'ACTIVATED') {
      requireMayCall(identity, request, endpoint);
      await calls.list(request.raw, reply.raw, endpoint, set, request.id, request.principal);
      return reply.hijack();
    }
    const found = resourceAt(set, wanted.key, wanted.version);
    if (found !== undefined) requireMayCall(identity, request, found.endpoint);
    if (found !== undefined) await found.endpoint.executor();
    if (found !== undefined) return sendArtifact(request, reply, found.endpoint, found.artifact);
    if (endpoint?.entry.method === 'post' && endpoint.status === 'ACTIVATED')
      throw methodNotAllowed(request.method, pathOf(request.url), ['POST']);
    throw await finder.missing(wanted, 'get', principal);
  };

  const { options: before, handler: execute } = executionOperation(options, wantedOf);
  app.decorateRequest('target', undefined);
  const config = { access: 'execution' } as const;
  app.route({ ...before, method: 'POST', url: EXECUTION_ROUTE, config, handler: execute });
  app.route({ method: ['GET', 'HEAD'], url: EXECUTION_ROUTE, config, handler: read });
  app.route({
    method: ROUTED.filter((method) => !['GET', 'HEAD', 'POST'].includes(method)),
    url: EXECUTION_ROUTE,
    config: { access: 'read' },
    onRequest: async (request) => {
      const wanted = wantedOf(request);
      const { principal } = request;
      const allowed = allowedAt(visibleSet(activator.set, principal.grants), wanted.key, wanted.version);
      if (allowed.length === 0) throw await finder.missing(wanted, 'get', principal);
      throw methodNotAllowed(request.method, pathOf(request.url), allowed);
    },
    handler: (_request, reply) => reply,
  });
}

/** What one may read and not call is 403. @throws notAuthorized; notAuthenticated. */
function requireMayCall(identity: Identity, { principal, headers }: FastifyRequest, { ko }: Endpoint): void {
  if (!identity.allows(principal, 'execution', ko.id)) throw identity.refusal(principal, headers.authorization);
}

const wantedOf = (request: FastifyRequest): Wanted => wantedByPath(pathOf(request.url), askedVersion(request));

const EMPTY = Buffer.alloc(0);

/** The file of a resource endpoint: "the path as in the deployment, or, where it is unambiguous, without its leading folders". */
async function sendArtifact(
  request: FastifyRequest,
  reply: FastifyReply,
  endpoint: Endpoint,
  artifact: string,
): Promise<unknown> {
  const { artifacts } = endpoint.entry;
  const fitting = artifacts.includes(artifact) ? [artifact] : artifacts.filter((path) => path.endsWith(`/${artifact}`));
  const [path] = fitting;
  if (path === undefined || fitting.length > 1) throw binaryNotFound(koKey(endpoint.ko.id), artifact);
  const { ko } = endpoint;
  ko.retain();
  reply.raw.once('close', () => ko.release());
  void reply.header(PACKAGE_DIGEST_HEADER, packageDigestOf(ko.entry));
  return sendFile(request, reply, await ko.open(), path);
}
