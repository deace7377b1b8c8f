/** The one place where errors become answers, in the form that the route declares. */
import type { FastifyBaseLogger, FastifyContextConfig, FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { REQUEST_ID_HEADER } from '../engines/call-headers.ts';
import { isOutOfHandles, ServiceError, tooManyOpen, unsupportedMediaType } from '../lib/errors.ts';
import { STATUS_CODES } from '../lib/http-module.ts';
import { humanTime } from '../lib/time.ts';
import { pathOf } from '../lib/url-path.ts';
import { ERROR_HEADER } from './headers.ts';

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

/** Logs an error where operators must hear of it, and gives its answer. `requestId` names the request in the log. */
export function answerOf(
  thrown: unknown,
  { url, requestId, errors }: { readonly url: string; readonly requestId: string; readonly errors?: DeclaredErrors },
  log: FastifyBaseLogger,
): ErrorAnswer {
  const error = toServiceError(thrown, requestId);
  if (error.status >= 500 && !error.isLogged) log.error({ requestId, err: thrown, code: error.code }, error.message);
  const form = formOf(errors);
  return {
    status: error.status,
    headers: {
      ...error.headers,
      [ERROR_HEADER]: error.code,
      'content-type': form.type,
      'x-content-type-options': 'nosniff',
      [REQUEST_ID_HEADER]: requestId,
    },
    body: form.body(error, pathOf(url)),
  };
}

/** Answers a request of a route with an error. */
export function sendError(request: FastifyRequest, reply: FastifyReply, thrown: unknown): FastifyReply {
  const { originalUrl: url, id: requestId, routeOptions } = request;
  const { errors } = routeOptions.config;
  const { status, headers, body } = answerOf(thrown, { url, requestId, errors }, request.log);
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
