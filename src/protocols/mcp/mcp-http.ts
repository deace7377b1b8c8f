/** The way of the protocol over HTTP, "Streamable HTTP": the library reads and answers messages, the service all else. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { McpHttpHandler, McpServerFactory } from '@modelcontextprotocol/server';
import type { CallSignal } from '../../engines/engine.ts';
import { bodyNotReadable } from '../../lib/errors.ts';
import { fieldsOf } from '../../lib/json.ts';
import { textBody, requireJson } from '../../http/body.ts';
import type { ErrorForm } from '../../http/errors.ts';
import { EXECUTION_ID_HEADER } from '../../http/headers.ts';
import { declare } from '../../http/methods.ts';
import type { ProtocolService } from '../../http/protocol.ts';
import type { McpRequest } from './call-tool.ts';
import type { Library, RequestOf } from './knowledge-server.ts';

export const MCP_PATH = '/mcp';

export interface McpHttpOptions {
  /** Makes what answers one request. */
  readonly factory: (library: Library, requestOf: RequestOf) => McpServerFactory;
  /** Answers a plain call without the library, as it would. Undefined: it is not plain. */
  readonly plain?: (body: unknown, request: FastifyRequest, call: McpRequest) => Promise<string | undefined>;
  /** Where somebody without a login finds out how to get one. */
  readonly metadataOf?: ((request: FastifyRequest) => string) | undefined;
}

const PARSE_ERROR = -32_700;
const OTHER_ERROR = -32_000;

/** What is refused before a message is read. */
const RPC_ERRORS: ErrorForm = {
  type: 'application/json',
  body: ({ code, message, status }) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: null,
      error: { code: code === 'body-not-readable' ? PARSE_ERROR : OTHER_ERROR, message, data: { status, code } },
    }),
};

export class McpHttp {
  readonly #options: McpHttpOptions;
  readonly #service: ProtocolService;
  /** Streams without an end of their own. */
  readonly #listening = new Set<Gone>();
  #handler: Promise<McpHttpHandler> | undefined;

  constructor(options: McpHttpOptions, service: ProtocolService) {
    this.#options = options;
    this.#service = service;
  }

  /** Tells those who listen that tools, or files, are others. */
  tell(): void {
    void this.#handler?.then(({ notify }) => {
      notify.toolsChanged();
      notify.resourcesChanged();
    });
  }

  addRoutes(app: FastifyInstance): void {
    const endListening = (): void => this.#listening.forEach((each) => each.controller.abort());
    this.#service.lifecycle.left.addEventListener('abort', endListening, { once: true });
    app.addHook('onClose', () => this.#handler?.then((handler) => handler.close()));
    const { metadataOf } = this.#options;
    const onSend = (
      request: FastifyRequest,
      reply: FastifyReply,
      payload: unknown,
      done: (error: null, payload: unknown) => void,
    ): void => {
      const challenge = reply.getHeader('www-authenticate');
      if (metadataOf !== undefined && typeof challenge === 'string' && challenge.includes('Bearer '))
        void reply.header('www-authenticate', withMetadata(challenge, metadataOf(request)));
      done(null, payload);
    };
    declare(
      app,
      MCP_PATH,
      { POST: { access: 'execution', handler: (request, reply) => this.#answer(request, reply), options: { onSend } } },
      { errors: RPC_ERRORS, isForOwnPages: true },
    );
  }

  async #answer(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    requireJson(request);
    const text = textBody(request);
    const body = parse(text);
    const gone = new Gone(reply.raw);
    const call: McpRequest = {
      raw: request.raw,
      requestId: request.id,
      principal: request.principal,
      signal: gone,
      text,
      onExecution: (id) => void reply.header(EXECUTION_ID_HEADER, id),
    };
    const plain = await this.#options.plain?.(body, request, call);
    if (plain !== undefined) return reply.type('application/json').send(plain);
    const { fetch } = await (this.#handler ??= this.#load());
    const response = await fetch(asWebRequest(request, gone.controller.signal), {
      parsedBody: body,
      authInfo: { token: '', clientId: request.principal.name, scopes: [], extra: { call } },
    });
    void reply.code(response.status);
    response.headers.forEach((value, name) => void reply.header(name, value));
    if (response.body === null) return reply.send();
    if (!String(response.headers.get('content-type')).startsWith('text/event-stream'))
      return reply.send(await response.text());
    if (fieldsOf(body)['method'] === LISTEN) this.#endInTime(gone, request);
    const { socket } = request.raw;
    this.#service.streaming.add(socket);
    reply.raw.once('close', () => this.#service.streaming.delete(socket));
    void reply.header('x-accel-buffering', 'no');
    return reply.send(Readable.fromWeb(response.body));
  }

  /** A stream ends when the service stops, and so that nobody listens on with a login that is gone. */
  #endInTime(stream: Gone, { principal: { until = Infinity }, raw }: FastifyRequest): void {
    if (this.#service.lifecycle.leaving) return stream.controller.abort();
    this.#listening.add(stream);
    const time = Math.max(0, Math.min(LONGEST_MS, until - Date.now()));
    const timer = setTimeout(() => stream.controller.abort(), time).unref();
    raw.socket.once('close', () => clearTimeout(timer));
    stream.controller.signal.addEventListener('abort', () => this.#listening.delete(stream), { once: true });
  }

  async #load(): Promise<McpHttpHandler> {
    const library = await import('@modelcontextprotocol/server');
    const factory = this.#options.factory(library, (context) => {
      const call = context.authInfo?.extra?.['call'];
      if (call === undefined) throw new Error('a message came without its request');
      return call as McpRequest;
    });
    const log = this.#service.log.child({ part: 'mcp' });
    return library.createMcpHandler(factory, {
      maxSubscriptions: MOST_LISTENERS,
      onerror: (thrown) => log.debug({ cause: thrown.message }, 'a message of an assistant was refused'),
    });
  }
}

const LISTEN = 'subscriptions/listen';
const MOST_LISTENERS = 200;
const LONGEST_MS = 300_000;

/** True once nobody can read the answer. */
class Gone implements CallSignal {
  readonly #response: ServerResponse;
  #controller: AbortController | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get aborted(): boolean {
    return this.#response.closed;
  }

  /** Made for who has to hear of it. */
  get controller(): AbortController {
    if (this.#controller !== undefined) return this.#controller;
    const controller = (this.#controller = new AbortController());
    if (this.#response.closed) controller.abort();
    else this.#response.once('close', () => controller.abort());
    return controller;
  }
}

/** @throws bodyNotReadable. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw bodyNotReadable('The body is not JSON', { cause });
  }
}

/** Its body was read. */
function asWebRequest({ raw, url }: FastifyRequest, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(raw.headers))
    if (name !== 'authorization' && value !== undefined) headers.set(name, String(value));
  return new Request(`http://localhost${url}`, { method: raw.method ?? 'POST', headers, signal });
}

/** https://www.rfc-editor.org/rfc/rfc9728#section-5.1 */
const withMetadata = (challenge: string, address: string): string =>
  challenge.replace(/Bearer /, `Bearer resource_metadata="${address}", `);
