/** `POST /{uri}`: runs an endpoint. The body goes to the worker as text and its result comes back as JSON text. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import {
  CALLS_TYPE,
  DEADLINE_HEADER,
  DEPTH_HEADER,
  REQUEST_ID_HEADER,
  TOKEN_HEADER,
} from '../../../src/engines/call-headers.ts';
import type { CallScope } from '../../../src/engines/engine.ts';
import { CallFailure, type FailureKind } from '../../../src/engines/supervisor/call-failure.ts';
import { notFound, overloaded, type ServiceError } from '../../../src/lib/errors.ts';
import { isJson, mediaTypeOf } from '../../../src/lib/media-type.ts';
import { uptime } from '../../../src/lib/time.ts';
import type { Endpoints } from '../activation/endpoints.ts';
import type { CallOrigin } from '../activator/activator-scope.ts';
import { readText, sendError, sendJson } from './body.ts';
import { answerCalls, type Outcome, type Submit, takesFailuresAsJson } from './calls-in-one-request.ts';

export interface ExecuteOptions {
  readonly executionTimeoutMs: number;
  readonly bodyLimit: number;
  readonly thrownStatus: 400 | 500;
  /** In which the code of a call finds the other endpoints. */
  readonly scopeOf: (origin: CallOrigin) => CallScope;
}

/** Characters of bodies of all calls together that may be under way, and one of any size. */
const minHeldCharacters = 256_000_000;

export type Execute = (uri: string, request: IncomingMessage, response: ServerResponse) => void;

export function createExecute(endpoints: Endpoints, options: ExecuteOptions): Execute {
  const heldLimit = Math.max(minHeldCharacters, options.bodyLimit);
  let held = 0;
  return (uri, request, response) => {
    const { headers } = request;
    readText(request, options.bodyLimit, (error, body) => {
      // Looked up when the body is complete, since the endpoint may have been replaced meanwhile.
      const endpoint = endpoints.get(uri);
      const host = endpoint?.hosted.host;
      const refusal = error ?? (held + body.length > heldLimit ? tooMuchHeld() : undefined);
      if (refusal || !host || !endpoint) {
        sendError(response, refusal ?? notFound(`No endpoint ${uri} is active in this runtime`));
        return;
      }
      const timeoutMs = endpoint.descriptor.timeoutMs ?? options.executionTimeoutMs;
      const type = headers['content-type'];
      const traces = tracesOf(headers);
      const submit: Submit = (text, json, done, number = 0) => {
        held += text.length;
        const origin = {
          depth: count(headers[DEPTH_HEADER]) ?? 0,
          token: tokenOf(headers[TOKEN_HEADER]),
          trace: traces(number),
        };
        const settle = (outcome: Outcome): void => {
          held -= text.length;
          done(outcome);
        };
        host.submit(uri, {
          input: text,
          json,
          depth: origin.depth,
          scope: options.scopeOf(origin),
          deadline: uptime() + limitOf(timeoutMs, count(headers[DEADLINE_HEADER])),
          resolve: (result) => settle({ ok: true, result }),
          reject: (error) => settle(failureOf(error, options.thrownStatus)),
        });
      };
      if (type === CALLS_TYPE) answerCalls(body, response, submit, takesFailuresAsJson(headers.accept));
      else submit(body, type === undefined || isJson(mediaTypeOf(type)), (outcome) => answerCall(response, outcome));
    });
  };
}

function answerCall(response: ServerResponse, outcome: Outcome): void {
  if (outcome.ok) {
    const text = `{"result":${outcome.result}}`;
    response.writeHead(200, ['content-type', 'application/json', 'content-length', String(Buffer.byteLength(text))]);
    response.end(text);
  } else {
    const headers = outcome.status === 503 ? { 'retry-after': '1' } : {};
    const { title, description, place, fault } = outcome;
    sendJson(response, outcome.status, { title, description, place, fault }, headers);
  }
}

/** What is invalid input has a title. */
function failureOf(error: Error, thrownStatus: 400 | 500): Outcome {
  const { message: description } = error;
  if (!(error instanceof CallFailure)) return { ok: false, status: 500, description };
  const { kind, status, place } = error;
  const more = { description, ...(place && { place }) };
  if (kind === 'invalid' && status !== undefined) return { ok: false, status, ...more, title: 'Invalid Input' };
  const fault = FAULTS[kind];
  return { ok: false, status: STATUSES[kind] ?? thrownStatus, ...more, ...(fault !== undefined && { fault }) };
}

/** But for what the code threw. */
const STATUSES: { readonly [Kind in FailureKind]?: number } = {
  ...{ unreadable: 400, failed: 500, timeout: 500, memory: 500, ended: 500, unwritable: 500, unloaded: 500 },
  ...{ busy: 503, gone: 503 },
};

/** Maps failures to the codes of the service's error catalogue. */
const FAULTS: { readonly [Kind in FailureKind]?: string } = {
  ...{ thrown: 'code-error', unloaded: 'code-error', timeout: 'execution-timeout', memory: 'out-of-memory' },
  ...{ ended: 'process-ended', unwritable: 'invalid-result' },
};

const tooMuchHeld = (): ServiceError => overloaded('The runtime holds as many inputs as it can');

/** A caller with less time than the limit gets its answer before that time is over: a second, or a twentieth of it. */
const limitOf = (timeoutMs: number, left: number | undefined): number =>
  left === undefined ? timeoutMs : Math.max(1, Math.min(timeoutMs, Math.floor(Math.max(left * 0.95, left - 1000))));

/** It is sent on, and thus must be no more than a token can be. */
const tokenOf = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' && /^[\w.-]{1,1024}$/.test(header) ? header : undefined;

/** Gives the headers by which a call is known in logs; those of calls in one request are divided by commas. */
function tracesOf(headers: IncomingHttpHeaders): (number: number) => Readonly<Record<string, string>> {
  const ids = partsOf(headers[REQUEST_ID_HEADER]);
  const parents = partsOf(headers['traceparent']);
  return (number) => ({
    ...(isTrace(ids[number]) ? { [REQUEST_ID_HEADER]: ids[number] } : {}),
    ...(isTrace(parents[number]) ? { traceparent: parents[number], ...stateOf(headers, parents.length) } : {}),
  });
}

/** It holds commas itself: those of several calls do not come. */
function stateOf({ tracestate }: IncomingHttpHeaders, calls: number): Readonly<Record<string, string>> {
  return calls === 1 && typeof tracestate === 'string' && /^[ -~]{1,512}$/.test(tracestate) ? { tracestate } : {};
}

const partsOf = (header: string | string[] | undefined): string[] =>
  typeof header === 'string' ? header.split(',') : [];
const isTrace = (part: string | undefined): part is string => part !== undefined && /^[\w.:/+=-]{1,128}$/.test(part);

function count(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,12}$/.test(header) ? Number(header) : undefined;
}
