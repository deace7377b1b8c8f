/** Calls that come by HTTP: what their headers decide, and how their answers are written. How they run: `calls.ts` of `src/calls`. */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { EndpointSet } from '../../activation/endpoint-set.ts';
import type { Calls } from '../../calls/calls.ts';
import { DEADLINE_HEADER, TOKEN_HEADER } from '../../engines/call-headers.ts';
import type { CallTrace } from '../../engines/engine.ts';
import type { CallOrigin, CallTokens } from '../../engines/call-token.ts';
import { withoutMark } from '../../lib/byte-order-mark.ts';
import { bodyNotReadable, methodNotAllowed } from '../../lib/errors.ts';
import { uptime } from '../../lib/uptime.ts';
import { pathOf } from '../errors.ts';
import type { HeldBytes } from '../held-bytes.ts';
import { PACKAGE_DIGEST_HEADER, packageDigestOf } from '../package-digest.ts';
import type { RequestGate } from '../request-gate.ts';
import { traceOf } from '../request-ids.ts';
import { policyFor } from '../send-file.ts';
import { Negotiation } from './negotiation.ts';
import type { AnswerForm } from './negotiation.ts';

/** What the headers of a call decided, before its body is read. */
export interface Target {
  readonly endpoint: Endpoint;
  readonly set: EndpointSet;
  readonly json: boolean;
  readonly form: AnswerForm;
  readonly trace: CallTrace;
}

export interface HttpCallsOptions {
  readonly held: HeldBytes;
  readonly tokens: CallTokens;
  readonly calls: Calls;
  readonly gate: RequestGate;
}

/** True once nobody can read the answer; cheaper than a controller for each call. */
class ClientGone {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get aborted(): boolean {
    return this.#response.closed;
  }
}

export class HttpCalls {
  readonly #options: HttpCallsOptions;
  readonly #negotiations = new WeakMap<Endpoint, Negotiation>();

  constructor(options: HttpCallsOptions) {
    this.#options = options;
  }

  /** "Order of checks: 404, 405, 415, 406, body." @throws methodNotAllowed; unsupportedMediaType; notAcceptable. */
  accept(request: IncomingMessage, endpoint: Endpoint, set: EndpointSet, requestId: string): Target {
    if (endpoint.entry.method !== 'post') throw methodNotAllowed('POST', pathOf(request.url ?? ''), ['GET', 'HEAD']);
    const negotiation = this.#negotiationOf(endpoint);
    const json = negotiation.readsJson(request.headers['content-type']);
    const form = negotiation.answerForm(request.headers.accept);
    return { endpoint, set, json, form, trace: traceOf(request, requestId) };
  }

  /** Runs a call and writes its answer. @throws ServiceError, before anything is written. */
  async run(request: IncomingMessage, response: ServerResponse, target: Target, body: Buffer): Promise<void> {
    const { endpoint, set, json, form, trace } = target;
    if (json && !isUtf8(body)) throw bodyNotReadable('The request body is not valid UTF-8');
    this.#options.held.until(response, body.length);
    const text = body.toString('utf8');
    const input = {
      body: json ? withoutMark(text) : body,
      text,
      contentType: request.headers['content-type'] ?? 'application/json',
      json,
      trace,
      origin: travelled(request.headers, this.#options.tokens),
      caller: request.socket.remoteAddress,
    };
    const result = await this.#options.calls.invoke({ endpoint, set }, input, new ClientGone(response));
    this.#write(request, response, endpoint, form, result, text, trace.requestId);
  }

  /** The list of a resource endpoint, in the form of any other answer. @throws notAcceptable. */
  async list(
    request: IncomingMessage,
    response: ServerResponse,
    endpoint: Endpoint,
    set: EndpointSet,
    requestId: string,
  ): Promise<void> {
    const form = this.#negotiationOf(endpoint).answerForm(request.headers.accept);
    const executor = await endpoint.executor();
    const call = { body: '', contentType: '', json: false, deadline: Infinity, depth: 0, scope: set };
    const result = await executor.execute(call);
    const written = form.kind === 'minimal' ? form : ({ kind: 'wrapped' } as const);
    this.#write(request, response, endpoint, written, result, '', requestId);
  }

  #negotiationOf(endpoint: Endpoint): Negotiation {
    let known = this.#negotiations.get(endpoint);
    if (known === undefined) {
      known = new Negotiation(endpoint);
      this.#negotiations.set(endpoint, known);
    }
    return known;
  }

  /** Writes `{"result": …, "info": {"ko": …, "inputs": …}}` around texts that are JSON already. */
  #write(
    request: IncomingMessage,
    response: ServerResponse,
    endpoint: Endpoint,
    form: AnswerForm,
    result: string,
    inputs: string,
    requestId: string,
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
    this.#options.held.until(response, length);
    response.writeHead(200, [
      'content-type',
      type,
      'content-length',
      String(length),
      'content-location',
      `/${endpoint.id}`,
      PACKAGE_DIGEST_HEADER,
      packageDigestOf(endpoint.ko.package.entry),
      ...policy,
      ...this.#options.gate.headers(request, requestId),
    ]);
    response.end(request.method === 'HEAD' ? undefined : body);
  }
}

/**
 * A call that comes from another KO, through its runtime: "Depth (16) and the time that is left travel with the call."
 * What headers say counts "only together with a signed token that the activator gave out with the call".
 */
function travelled(headers: IncomingHttpHeaders, tokens: CallTokens): CallOrigin | undefined {
  const token = headers[TOKEN_HEADER];
  const origin = token === undefined ? undefined : tokens.read(token);
  if (origin === undefined) return undefined;
  const said = headers[DEADLINE_HEADER];
  const left = typeof said === 'string' && MILLISECONDS.test(said) ? Number(said) : Infinity;
  return { depth: origin.depth + 1, deadline: Math.min(origin.deadline, uptime() + left) };
}

const MILLISECONDS = /^\d{1,12}$/;
