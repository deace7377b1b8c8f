/** Calls that come by HTTP: what their headers decide, and how their answers are written. How they run: `calls.ts` of `src/calls`. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { EndpointSet } from '../../activation/endpoint-set.ts';
import type { Calls } from '../../calls/calls.ts';
import type { CallTrace } from '../../engines/engine.ts';
import type { CallTokens } from '../../engines/call-token.ts';
import { withoutMark } from '../../lib/byte-order-mark.ts';
import { bodyNotReadable, methodNotAllowed } from '../../lib/errors.ts';
import { pathOf } from '../errors.ts';
import { CalledEndpoints } from '../../calls/called-endpoints.ts';
import type { HeldBytes } from '../../calls/held-bytes.ts';
import type { RequestGate } from '../request-gate.ts';
import { callOfRequest, ClientGone } from './call-of-request.ts';
import { EndpointAnswers } from './endpoint-answers.ts';
import { Negotiation, WRAPPED } from './negotiation.ts';
import type { AnswerForm } from './negotiation.ts';
import type { Provenance, ProvenCall } from './provenance.ts';

/** What the headers of a call decided, before its body is read. */
export interface Target {
  readonly endpoint: Endpoint;
  readonly set: EndpointSet;
  readonly json: boolean;
  readonly form: AnswerForm;
  readonly trace: CallTrace;
  /** The media type, where the body is records that are calls each. */
  readonly records: string | undefined;
}

/** What is made once for an endpoint. */
interface Known {
  readonly negotiation: Negotiation;
  readonly answers: EndpointAnswers;
}

export interface HttpCallsOptions {
  /** Takes account of the answers. */
  readonly held: HeldBytes;
  readonly tokens: CallTokens;
  readonly calls: Calls;
  readonly gate: RequestGate;
  /** Where answers are to tell how they came about. */
  readonly provenance: Provenance | undefined;
}

export class HttpCalls {
  readonly #options: HttpCallsOptions;
  readonly #known = new WeakMap<Endpoint, Known>();

  constructor(options: HttpCallsOptions) {
    this.#options = options;
  }

  /** "Order of checks: 404, 405, 415, 406, body." @throws methodNotAllowed; unsupportedMediaType; notAcceptable. */
  accept(request: IncomingMessage, endpoint: Endpoint, set: EndpointSet, requestId: string): Target {
    if (endpoint.entry.method !== 'post') throw methodNotAllowed('POST', pathOf(request.url ?? ''), ['GET', 'HEAD']);
    const { negotiation } = this.#knownOf(endpoint);
    const trace = this.#options.gate.ids.traceOf(request, requestId);
    const records = negotiation.recordType(request.headers);
    if (records !== undefined) return { endpoint, set, json: true, form: WRAPPED, trace, records };
    const json = negotiation.readsJson(request.headers['content-type']);
    const form = negotiation.answerForm(request.headers.accept);
    return { endpoint, set, json, form, trace, records };
  }

  /** Runs a call and writes its answer. @throws ServiceError, before anything is written. */
  async run(request: IncomingMessage, response: ServerResponse, target: Target, body: Buffer): Promise<void> {
    const { endpoint, set, json, form, trace } = target;
    if (json && !isUtf8(body)) throw bodyNotReadable('The request body is not valid UTF-8');
    const text = body.toString('utf8');
    const proven = this.#prove(endpoint, trace, request.headers['content-type'] ?? '');
    const input = {
      body: json ? withoutMark(text) : body,
      text,
      contentType: request.headers['content-type'] ?? 'application/json',
      json,
      ...callOfRequest(request, trace, this.#options.tokens),
      called: proven?.called,
    };
    const result = await this.#options.calls.invoke({ endpoint, set }, input, new ClientGone(response));
    const headers = this.#options.gate.executionHeaders(request, trace);
    const provenance = proven && this.#options.provenance?.of(proven);
    const answer = { form, result, inputs: text, headers, withoutBody: false, provenance };
    this.#knownOf(endpoint).answers.write(response, this.#options.held, answer);
  }

  /** The list of a resource endpoint, in the form of any other answer. @throws notAcceptable. */
  async list(
    request: IncomingMessage,
    response: ServerResponse,
    endpoint: Endpoint,
    set: EndpointSet,
    requestId: string,
  ): Promise<void> {
    const { negotiation, answers } = this.#knownOf(endpoint);
    const form = negotiation.answerForm(request.headers.accept);
    const trace = this.#options.gate.ids.traceOf(request, requestId);
    const proven = this.#prove(endpoint, trace, '');
    const input = {
      ...{ body: '', text: '', contentType: '', json: false },
      ...callOfRequest(request, trace, this.#options.tokens),
    };
    const result = await this.#options.calls.invoke({ endpoint, set }, input, new ClientGone(response));
    const written = form.kind === 'minimal' ? form : ({ kind: 'wrapped' } as const);
    const headers = this.#options.gate.executionHeaders(request, trace);
    const withoutBody = request.method === 'HEAD';
    const provenance = proven && this.#options.provenance?.of(proven);
    const answer = { form: written, result, inputs: '', headers, withoutBody, provenance };
    answers.write(response, this.#options.held, answer);
  }

  #prove(endpoint: Endpoint, trace: CallTrace, contentType: string): ProvenCall | undefined {
    if (this.#options.provenance === undefined) return undefined;
    return { endpoint, trace, contentType, time: new Date(), called: new CalledEndpoints() };
  }

  #knownOf(endpoint: Endpoint): Known {
    let known = this.#known.get(endpoint);
    if (known === undefined) {
      known = { negotiation: new Negotiation(endpoint), answers: new EndpointAnswers(endpoint) };
      this.#known.set(endpoint, known);
    }
    return known;
  }
}
