/** The Request API: `POST` runs an endpoint, `GET` reads a resource. Most calls never come here: see `fast-calls.ts`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../../activation/activator.ts';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { EndpointMethod, EndpointSet } from '../../activation/endpoint-set.ts';
import { binaryNotFound, endpointNotFound, methodNotAllowed, notFound, overloaded } from '../../lib/errors.ts';
import { RESERVED_NAANS, koKey } from '../../knowledge-object/id.ts';
import type { Shelf } from '../../shelf/shelf.ts';
import { askedVersion } from '../asked-version.ts';
import { pathOf } from '../errors.ts';
import { ROUTED } from '../methods.ts';
import { PACKAGE_DIGEST_HEADER, packageDigestOf } from '../package-digest.ts';
import { sendFile } from '../send-file.ts';
import type { HttpCalls, Target } from './calls.ts';
import { allowedAt, endpointAt, keyOf, nothingActive, resourceAt } from './resolve-endpoint.ts';

declare module 'fastify' {
  interface FastifyRequest {
    target: Target | undefined;
  }
}

export interface ExecutionOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly calls: HttpCalls;
  /** While it is true, what is not known may yet come. */
  readonly arriving: () => boolean;
}

export function executionRoutes(app: FastifyInstance, { activator, shelf, calls, arriving }: ExecutionOptions): void {
  const missing = async (request: FastifyRequest, key: string): Promise<Error> => {
    const [naan = '', name = ''] = key.split('/');
    const method = request.method === 'POST' ? 'post' : 'get';
    if (RESERVED_NAANS.has(naan)) return notFound(`There is nothing at ${pathOf(request.url)}`);
    if (arriving() && endpointAt(activator.set, key, askedVersion(request), method) === undefined)
      throw overloaded(`${key} is not known yet: the manifests of the start are being imported; try again later`, 2);
    const unreadable = activator.unreadable(naan, name);
    if (unreadable !== undefined)
      throw overloaded(`${naan}/${name} cannot be read at the moment and is tried again: ${unreadable}`, 2);
    const versions = await shelf.versions(naan, name);
    return nothingActive(
      activator.set,
      key,
      askedVersion(request),
      method,
      versions.map((entry) => entry.id.version),
    );
  };

  const find = async (request: FastifyRequest): Promise<Endpoint> => {
    if (!activator.loaded) await activator.whenLoaded;
    const key = keyOf(pathOf(request.url));
    const endpoint = await readableNow(activator, key, askedVersion(request), 'post');
    if (endpoint === undefined || endpoint.status === 'FAILED_TO_ACTIVATE') throw await missing(request, key);
    return endpoint;
  };

  const decide = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const endpoint = await find(request);
    void reply.header(PACKAGE_DIGEST_HEADER, packageDigestOf(endpoint.ko.package.entry));
    request.target = calls.accept(request.raw, endpoint, activator.set, request.id);
  };

  const execute = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { target, body } = request;
    if (target === undefined) throw endpointNotFound(`No active endpoints found for ${pathOf(request.url)}`);
    await calls.run(request.raw, reply.raw, target, Buffer.isBuffer(body) ? body : EMPTY);
    reply.hijack();
  };

  const read = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (!activator.loaded) await activator.whenLoaded;
    const key = keyOf(pathOf(request.url));
    const endpoint = await readableNow(activator, key, askedVersion(request), 'get');
    const { set } = activator;
    if (endpoint?.entry.method === 'get' && endpoint.status === 'ACTIVATED') {
      await calls.list(request.raw, reply.raw, endpoint, set, request.id);
      return reply.hijack();
    }
    const found = resourceAt(set, key, askedVersion(request));
    if (found !== undefined) await found.endpoint.executor();
    if (found !== undefined) return sendArtifact(request, reply, found.endpoint, found.artifact);
    if (endpoint?.entry.method === 'post' && endpoint.status === 'ACTIVATED')
      throw methodNotAllowed(request.method, pathOf(request.url), ['POST']);
    throw await missing(request, key);
  };

  app.decorateRequest('target', undefined);
  const config = { access: 'execution' } as const;
  app.route({ method: 'POST', url: '/:naan/:name/*', config, onRequest: decide, handler: execute });
  app.route({ method: ['GET', 'HEAD'], url: '/:naan/:name/*', config, handler: read });
  app.route({
    method: ROUTED.filter((method) => !['GET', 'HEAD', 'POST'].includes(method)),
    url: '/:naan/:name/*',
    config: { access: 'open' },
    onRequest: async (request) => {
      const key = keyOf(pathOf(request.url));
      const allowed = allowedAt(activator.set, key, askedVersion(request));
      if (allowed.length === 0) throw await missing(request, key);
      throw methodNotAllowed(request.method, pathOf(request.url), allowed);
    },
    handler: (_request, reply) => reply,
  });
}

const EMPTY = Buffer.alloc(0);

/** What could not be read before is tried again by a call. */
async function readableNow(...place: Parameters<typeof decidedNow>): Promise<Endpoint | undefined> {
  const endpoint = await decidedNow(...place);
  if (endpoint !== undefined && endpoint.status !== 'FAILED_TO_ACTIVATE') return endpoint;
  const [activator, key] = place;
  const [naan = '', name = ''] = key.split('/', 2);
  if (activator.unreadable(naan, name) === undefined) return endpoint;
  await activator.tryAgain();
  return decidedNow(...place);
}

/** "A request meets either the old or the new set, none is dropped": what was replaced while a call waited is not its end. */
async function decidedNow(
  activator: Activator,
  key: string,
  version: string | undefined,
  method: EndpointMethod,
): Promise<Endpoint | undefined> {
  for (;;) {
    const { set } = activator;
    const endpoint = await decidedAt(set, key, version, method);
    if (endpoint?.ready() !== undefined || set === activator.set) return endpoint;
  }
}

/** "A call to it is moved to the front and waits for its activation." */
async function decidedAt(
  set: EndpointSet,
  key: string,
  version: string | undefined,
  method: EndpointMethod,
): Promise<Endpoint | undefined> {
  let endpoint = endpointAt(set, key, version, method);
  while (endpoint?.status === 'LOADED') {
    try {
      await endpoint.executor();
    } catch (thrown) {
      if (endpoint.status === 'LOADED') throw thrown;
    }
    // Where the newest version fails, the default is the next one.
    endpoint = endpointAt(set, key, version, method);
  }
  return endpoint;
}

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
  void reply.header(PACKAGE_DIGEST_HEADER, packageDigestOf(ko.package.entry));
  return sendFile(request, reply, ko.package, path);
}
