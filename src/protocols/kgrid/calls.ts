/** Calls that come by HTTP: what their headers decide, and how their answers are written. How they run: `src/execution/calls.ts`. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EndpointSet } from '../../activation/endpoint-set.ts';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { CallTrace } from '../../engines/engine.ts';
import type { Execution } from '../../execution/execution.ts';
import { type AnswerForm, Negotiation, WRAPPED } from '../../execution/negotiation.ts';
import { CalledEndpoints, type ProvenCall } from '../../execution/provenance.ts';
import { callOfRequest, ClientGone } from '../../http/protocol.ts';
import type { RequestGate } from '../../http/request-gate.ts';
import { namedIn, type Principal } from '../../identity/principal.ts';
import { bodyNotReadable, methodNotAllowed } from '../../lib/errors.ts';
import { withoutMark } from '../../lib/text.ts';
import { pathOf } from '../../lib/url-path.ts';
import { EndpointAnswers } from './endpoint-answers.ts';

/** What the headers of a call decided, before its body is read. */
export interface Target {
  readonly endpoint: Endpoint;
  readonly set: EndpointSet;
  readonly json: boolean;
  readonly form: AnswerForm;
  readonly trace: CallTrace;
  readonly principal: Principal;
  /** The media type, where the body is records that are calls each. */
  readonly records: string | undefined;
}

/** What is made once for an endpoint. */
interface Known {
  readonly negotiation: Negotiation;
  readonly answers: EndpointAnswers;
}

export class HttpCalls {
  readonly #execution: Execution;
  readonly #gate: RequestGate;
  readonly #known = new WeakMap<Endpoint, Known>();

  constructor(execution: Execution, gate: RequestGate) {
    this.#execution = execution;
    this.#gate = gate;
  }

  /** "Order of checks: 404, 405, 415, 406, body." @throws methodNotAllowed; unsupportedMediaType; notAcceptable. */
  accept(
    request: IncomingMessage,
    endpoint: Endpoint,
    set: EndpointSet,
    requestId: string,
    principal: Principal,
  ): Target {
    if (endpoint.entry.method !== 'post') throw methodNotAllowed('POST', pathOf(request.url ?? ''), ['GET', 'HEAD']);
    const { negotiation } = this.#knownOf(endpoint);
    const trace = this.#gate.ids.traceOf(request, requestId);
    const { 'content-type': type, accept, prefer } = request.headers;
    const records = negotiation.recordType(type, accept);
    if (records !== undefined) return { endpoint, set, json: true, form: WRAPPED, trace, records, principal };
    const json = negotiation.readsJson(type);
    const form = negotiation.answerForm(accept, typeof prefer === 'string' ? prefer : undefined);
    return { endpoint, set, json, form, trace, records, principal };
  }

  /** Runs a call and writes its answer. @throws ServiceError, before anything is written. */
  async run(request: IncomingMessage, response: ServerResponse, target: Target, body: Buffer): Promise<void> {
    const { endpoint, set, json, form, trace, principal } = target;
    if (json && !isUtf8(body)) throw bodyNotReadable('The request body is not valid UTF-8');
    const text = body.toString('utf8');
    const proven = this.#prove(endpoint, trace, principal, request.headers['content-type'] ?? '');
    const input = {
      body: json ? withoutMark(text) : body,
      text,
      contentType: request.headers['content-type'] ?? 'application/json',
      json,
      ...callOfRequest(request, trace, this.#execution.identity.caller(request.headers, principal)),
      called: proven?.called,
    };
    const result = await this.#execution.calls.invoke({ endpoint, set }, input, new ClientGone(response));
    const headers = this.#gate.executionHeaders(request, trace);
    const provenance = proven && this.#execution.provenance?.of(proven);
    const answer = { form, result, inputs: text, headers, withoutBody: false, provenance };
    this.#knownOf(endpoint).answers.write(response, this.#execution.held, answer);
  }

  /** The list of a resource endpoint, in the form of any other answer. @throws notAcceptable. */
  async list(
    request: IncomingMessage,
    response: ServerResponse,
    endpoint: Endpoint,
    set: EndpointSet,
    requestId: string,
    principal: Principal,
  ): Promise<void> {
    const { negotiation, answers } = this.#knownOf(endpoint);
    const form = negotiation.answerForm(request.headers.accept);
    const trace = this.#gate.ids.traceOf(request, requestId);
    const proven = this.#prove(endpoint, trace, principal, '');
    const input = {
      body: '',
      text: '',
      contentType: '',
      json: false,
      ...callOfRequest(request, trace, this.#execution.identity.caller(request.headers, principal)),
    };
    const result = await this.#execution.calls.invoke({ endpoint, set }, input, new ClientGone(response));
    const written = form.kind === 'minimal' ? form : ({ kind: 'wrapped' } as const);
    const headers = this.#gate.executionHeaders(request, trace);
    const withoutBody = request.method === 'HEAD';
    const provenance = proven && this.#execution.provenance?.of(proven);
    const answer = { form: written, result, inputs: '', headers, withoutBody, provenance };
    answers.write(response, this.#execution.held, answer);
  }

  #prove(endpoint: Endpoint, trace: CallTrace, principal: Principal, contentType: string): ProvenCall | undefined {
    if (this.#execution.provenance === undefined) return undefined;
    return {
      endpoint,
      trace,
      caller: namedIn(principal),
      contentType,
      time: new Date(),
      called: new CalledEndpoints(),
    };
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
