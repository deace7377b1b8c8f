/** The Request API: `POST` runs an endpoint, `GET` reads a resource. This is the hot path of the service. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isUtf8 } from 'node:buffer';
import type { Activator } from '../../activation/activator.ts';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { EndpointMethod, EndpointSet } from '../../activation/endpoint-set.ts';
import { binaryNotFound, bodyNotReadable, endpointNotFound, methodNotAllowed, notFound } from '../../lib/errors.ts';
import { RESERVED_NAANS, koKey } from '../../knowledge-object/id.ts';
import type { Shelf } from '../../shelf/shelf.ts';
import { DEADLINE_HEADER, DEPTH_HEADER } from '../../engines/call-headers.ts';
import { corsHeadersFor } from '../access/cors.ts';
import { pathOf } from '../errors.ts';
import type { HeldBytes } from '../held-bytes.ts';
import { METHODS } from '../methods.ts';
import { policyFor, sendFile } from '../send-file.ts';
import { Negotiation } from './negotiation.ts';
import type { AnswerForm } from './negotiation.ts';
import { allowedAt, endpointAt, keyOf, nothingActive, resourceAt } from './resolve-endpoint.ts';
import { uptime } from '../../lib/uptime.ts';

/** What the headers of a call decided, before its body is read. */
interface Target {
  readonly endpoint: Endpoint;
  readonly set: EndpointSet;
  readonly json: boolean;
  readonly form: AnswerForm;
}

declare module 'fastify' {
  interface FastifyRequest {
    target: Target | undefined;
  }
}

export interface ExecutionOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly held: HeldBytes;
  /** Counted for `/actuator/info`. */
  readonly onCall: () => void;
}

export function executionRoutes(app: FastifyInstance, { activator, shelf, held, onCall }: ExecutionOptions): void {
  const negotiations = new WeakMap<Endpoint, Negotiation>();
  const negotiationOf = (endpoint: Endpoint): Negotiation => {
    let known = negotiations.get(endpoint);
    if (known === undefined) {
      known = new Negotiation(endpoint);
      negotiations.set(endpoint, known);
    }
    return known;
  };

  const missing = async (request: FastifyRequest, key: string): Promise<Error> => {
    const [naan = '', name = ''] = key.split('/');
    if (RESERVED_NAANS.has(naan)) return notFound(`There is nothing at ${pathOf(request.url)}`);
    const versions = await shelf.versions(naan, name);
    return nothingActive(
      activator.set,
      key,
      versionOf(request),
      request.method === 'POST' ? 'post' : 'get',
      versions.map((entry) => entry.id.version),
    );
  };

  const find = async (request: FastifyRequest): Promise<Endpoint> => {
    if (!activator.loaded) await activator.whenLoaded;
    const key = keyOf(pathOf(request.url));
    const endpoint = await decidedNow(activator, key, versionOf(request), 'post');
    if (endpoint === undefined || endpoint.status === 'FAILED_TO_ACTIVATE') throw await missing(request, key);
    return endpoint;
  };

  /** "Order of checks: 404, 405, 415, 406, body." */
  const decide = (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
    // The path of an endpoint that is active, as it is spelled in its id: nothing to wait for.
    const endpoint = activator.set.versioned(request.url.slice(1));
    if (endpoint?.status === 'ACTIVATED') accept(request, endpoint, done);
    else find(request).then((found) => accept(request, found, done), done);
  };

  const accept = (request: FastifyRequest, endpoint: Endpoint, done: (error?: Error) => void): void => {
    try {
      if (endpoint.entry.method !== 'post') throw methodNotAllowed('POST', pathOf(request.url), ['GET', 'HEAD']);
      const negotiation = negotiationOf(endpoint);
      const json = negotiation.readsJson(request.headers['content-type']);
      const form = negotiation.answerForm(request.headers.accept);
      request.target = { endpoint, set: activator.set, json, form };
    } catch (thrown) {
      done(thrown as Error);
      return;
    }
    done();
  };

  const execute = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { target } = request;
    if (target === undefined) throw endpointNotFound(`No active endpoints found for ${pathOf(request.url)}`);
    const { endpoint, set, json, form } = target;
    const bytes: unknown = request.body;
    const body = Buffer.isBuffer(bytes) ? bytes : EMPTY;
    if (json && !isUtf8(body)) throw bodyNotReadable('The request body is not valid UTF-8');
    held.until(reply.raw, body.length);
    const text = body.toString('utf8');
    const executor = endpoint.ready() ?? (await endpoint.executor());
    onCall();
    const result = await executor.execute({
      body: json ? text : body,
      contentType: request.headers['content-type'] ?? 'application/json',
      json,
      deadline: Infinity,
      depth: 0,
      scope: set,
      ...travelled(request),
    });
    write(request, reply, held, endpoint, form, result, text);
  };

  const read = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (!activator.loaded) await activator.whenLoaded;
    const key = keyOf(pathOf(request.url));
    const endpoint = await decidedNow(activator, key, versionOf(request), 'get');
    const { set } = activator;
    if (endpoint?.entry.method === 'get' && endpoint.status === 'ACTIVATED') return list(request, reply, endpoint);
    const found = resourceAt(set, key, versionOf(request));
    if (found !== undefined) await found.endpoint.executor();
    if (found !== undefined) return sendArtifact(request, reply, found.endpoint, found.artifact);
    if (endpoint?.entry.method === 'post') throw methodNotAllowed(request.method, pathOf(request.url), ['POST']);
    throw await missing(request, key);
  };

  /** The list of a resource endpoint, in the form of any other answer. */
  const list = async (request: FastifyRequest, reply: FastifyReply, endpoint: Endpoint): Promise<void> => {
    const form = negotiationOf(endpoint).answerForm(request.headers.accept);
    const executor = await endpoint.executor();
    const result = await executor.execute({
      body: '',
      contentType: '',
      json: false,
      deadline: Infinity,
      depth: 0,
      scope: activator.set,
    });
    write(request, reply, held, endpoint, form.kind === 'minimal' ? form : { kind: 'wrapped' }, result, '');
  };

  app.decorateRequest('target', undefined);
  const config = { access: 'execution' } as const;
  app.route({ method: 'POST', url: '/:naan/:name/*', config, onRequest: decide, handler: execute });
  app.route({ method: ['GET', 'HEAD'], url: '/:naan/:name/*', config, handler: read });
  app.route({
    method: METHODS.filter((method) => !['GET', 'HEAD', 'POST'].includes(method)),
    url: '/:naan/:name/*',
    config: { access: 'open' },
    onRequest: async (request) => {
      const key = keyOf(pathOf(request.url));
      const allowed = allowedAt(activator.set, key, versionOf(request));
      if (allowed.length === 0) throw await missing(request, key);
      throw methodNotAllowed(request.method, pathOf(request.url), allowed);
    },
    handler: (_request, reply) => reply,
  });
}

const EMPTY = Buffer.alloc(0);

/** A call that comes from another KO, through its runtime: "Depth (16) and the time that is left travel with the call." */
function travelled({ headers }: FastifyRequest): { depth: number; deadline: number } | undefined {
  const depth = headers[DEPTH_HEADER];
  if (depth === undefined) return undefined;
  const left = Number(headers[DEADLINE_HEADER] ?? Infinity);
  return { depth: (Number(depth) || 0) + 1, deadline: uptime() + (left >= 0 ? left : 0) };
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

function versionOf(request: FastifyRequest): string | undefined {
  const { v } = request.query as { v?: string | string[] };
  const version = Array.isArray(v) ? v[0] : v;
  return version === '' ? undefined : version;
}

/** Writes `{"result": …, "info": {"ko": …, "inputs": …}}` around texts that are JSON already. */
function write(
  request: FastifyRequest,
  reply: FastifyReply,
  held: HeldBytes,
  endpoint: Endpoint,
  form: AnswerForm,
  result: string,
  inputs: string,
): void {
  let type = 'application/json';
  let body: string;
  let policy: readonly string[] = [];
  if (form.kind === 'minimal') body = result;
  else if (form.kind === 'text' && result.startsWith('"')) {
    type = `${form.type}; charset=utf-8`;
    // A form of any site can lead a browser here, and the result may hold what it sent.
    policy = ['content-security-policy', policyFor(form.type)];
    body = JSON.parse(result) as string;
  } else body = `{"result":${result},"info":{"ko":${endpoint.ko.metadata},"inputs":${JSON.stringify(inputs)}}}`;
  const length = Buffer.byteLength(body);
  held.until(reply.raw, length);
  const headers = [
    'content-type',
    type,
    'content-length',
    String(length),
    'content-location',
    `/${endpoint.id}`,
    'x-content-type-options',
    'nosniff',
    ...policy,
  ];
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, [...headers, ...corsHeadersFor(request)]);
  raw.end(request.method === 'HEAD' ? undefined : body);
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
  return sendFile(request, reply, ko.package, path);
}
