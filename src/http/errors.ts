/** The one place where errors become answers, in the form that the route declares. */
import type { FastifyBaseLogger, FastifyContextConfig, FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { REQUEST_ID_HEADER } from '../engines/call-headers.ts';
import { isOutOfHandles, ServiceError, tooManyOpen, unsupportedMediaType } from '../lib/errors.ts';
import { boundedAccept } from '../lib/media-type.ts';
import { STATUS_CODES } from '../lib/http-module.ts';
import { humanTime } from '../lib/time.ts';
import { pathOf } from '../lib/url-path.ts';
import { ERROR_HEADER, EXECUTION_ID_HEADER } from './headers.ts';

/** "Request API errors (JSON object, keys capitalized)". */
export function requestErrorBody(
  error: ServiceError,
  path: string,
  more: Readonly<Record<string, string>> = {},
): string {
  return JSON.stringify({
    Status: `${error.status} ${reasonOf(error.status)}`,
    Instance: `uri=${path}`,
    Title: error.title,
    Time: humanTime(),
    Detail: error.message,
    ...more,
  });
}

/** "Shelf errors (JSON object): `Status` (string `<code> <REASON_UPPERCASE>`), `Request`, `Error`, `Time`". */
export function shelfErrorBody(error: ServiceError, path: string): string {
  return JSON.stringify({
    Status: `${error.status} ${reasonOf(error.status)
      .toUpperCase()
      .replace(/[^A-Z]+/g, '_')}`,
    Request: `uri=${path}`,
    Error: error.message,
    Time: humanTime(),
  });
}

const reasonOf = (status: number): string => STATUS_CODES[status] ?? 'Error';

/** How a route words errors. */
export interface ErrorForm {
  /** The Content-Type of the answer. */
  readonly type: string;
  /** `path` is the request's, as it was sent. */
  body(error: ServiceError, path: string): string;
}

export const PROBLEM_TYPE = 'application/problem+json';

/** Whether a client would rather have a problem document (RFC 9457) than the JSON of the specification. */
export const wantsProblem = (accept: string | undefined): boolean =>
  accept !== undefined &&
  accept.includes(PROBLEM_TYPE) &&
  new Negotiator({ headers: { accept: boundedAccept(accept) } }).mediaType(['application/json', PROBLEM_TYPE]) ===
    PROBLEM_TYPE;

/** RFC 9457. `executionId` names the call, where there was one. */
export function problemBody(error: ServiceError, path: string, ids: Readonly<Record<string, string>> = {}): string {
  const { code, status, title, inputs } = error;
  return JSON.stringify({
    type: `urn:kgrid:error:${code}`,
    status,
    title,
    // What came stands in the message, and may be data of a patient.
    detail:
      inputs.length === 0
        ? error.message
        : `The input is not what the endpoint takes, at ${inputs.length} of its places`,
    instance: path,
    ...ids,
    ...(inputs.length > 0 && { errors: inputs }),
  });
}

const JSON_TYPE = 'application/json; charset=utf-8';
/** The two forms of the specification. */
const FORMS = {
  shelf: { type: JSON_TYPE, body: shelfErrorBody },
  request: { type: JSON_TYPE, body: requestErrorBody },
} as const satisfies Record<string, ErrorForm>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How the route words errors: `request` where it declares nothing, and where no route matched. */
    errors?: keyof typeof FORMS | ErrorForm;
  }
}

/** What a route declares of its errors. */
export type DeclaredErrors = FastifyContextConfig['errors'];

const formOf = (declared: DeclaredErrors): ErrorForm =>
  typeof declared === 'object' ? declared : FORMS[declared ?? 'request'];

/** An answer that says what is wrong. */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Where an error is answered. */
interface ErrorPlace {
  readonly url: string;
  /** Names the request in the log. */
  readonly requestId: string;
  readonly executionId?: string | undefined;
  readonly errors?: DeclaredErrors;
  /** The header of the request. */
  readonly accept?: string | undefined;
}

/** Logs an error where operators must hear of it, and gives its answer. */
export function answerOf(
  thrown: unknown,
  { url, requestId, executionId, errors, accept }: ErrorPlace,
  log: FastifyBaseLogger,
): ErrorAnswer {
  const error = toServiceError(thrown, requestId);
  if (error.status >= 500 && !error.isLogged) log.error({ requestId, err: thrown, code: error.code }, error.message);
  const isProblem = typeof errors !== 'object' && wantsProblem(accept);
  const form = formOf(errors);
  const path = pathOf(url);
  return {
    status: error.status,
    headers: {
      ...error.headers,
      [ERROR_HEADER]: error.code,
      'content-type': isProblem ? PROBLEM_TYPE : form.type,
      ...(isProblem && { vary: 'Accept' }),
      'x-content-type-options': 'nosniff',
      [REQUEST_ID_HEADER]: requestId,
    },
    body: isProblem
      ? problemBody(error, path, { requestId, ...(executionId !== undefined && { executionId }) })
      : form.body(error, path),
  };
}

/** Answers a request of a route with an error. */
export function sendError(request: FastifyRequest, reply: FastifyReply, thrown: unknown): FastifyReply {
  const { originalUrl: url, id: requestId, routeOptions } = request;
  const { errors } = routeOptions.config;
  const { accept } = request.headers;
  const sent = reply.getHeader(EXECUTION_ID_HEADER);
  const executionId = typeof sent === 'string' ? sent : undefined;
  const { status, headers, body } = answerOf(thrown, { url, requestId, executionId, errors, accept }, request.log);
  for (const header of [
    'content-disposition',
    'content-length',
    'content-location',
    'content-range',
    'etag',
    'cache-control',
  ])
    void reply.removeHeader(header);
  return reply.code(status).headers(headers).send(body);
}

/** Errors that are not ours say nothing of what is inside. */
export function toServiceError(thrown: unknown, requestId = ''): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const { code, statusCode, message } = (thrown ?? {}) as Partial<FastifyError>;
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return unsupportedMediaType('The Content-Type of the request is not supported here', { cause: thrown });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ServiceError('request-refused', statusCode, reasonOf(statusCode), message ?? reasonOf(statusCode), {
      cause: thrown,
    });
  }
  if (isOutOfHandles(thrown)) return tooManyOpen(thrown);
  return new ServiceError(
    'internal',
    500,
    'Internal Server Error',
    `The service failed to answer; its log has the cause under requestId ${requestId}`,
    { cause: thrown },
  );
}
