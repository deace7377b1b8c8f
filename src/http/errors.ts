/** The one place where errors become answers, in the two forms of the specification. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { STATUS_CODES } from 'node:http';
import { malformedRequest, ServiceError, unsupportedMediaType } from '../lib/errors.ts';
import { humanTime } from '../lib/time.ts';

/** "Request API errors (JSON object, keys capitalized)". */
export function requestErrorBody(error: ServiceError, path: string): string {
  return JSON.stringify({
    Status: `${error.status} ${reasonOf(error.status)}`,
    Instance: `uri=${path}`,
    Title: error.title,
    Time: humanTime(),
    Detail: error.message,
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

/** Answers with an error: "everything under `/kos` answers errors as shelf errors, everywhere else as request errors". */
export function sendError(request: FastifyRequest, reply: FastifyReply, thrown: unknown): FastifyReply {
  const error = toServiceError(thrown);
  if (error.code === 'execution-failed')
    request.log.info({ requestId: request.id, code: error.code, path: pathOf(request.url) }, error.message);
  else if (error.status >= 500)
    request.log.error({ requestId: request.id, err: thrown, code: error.code }, error.message);
  const path = pathOf(request.url);
  const body = /^\/kos(\/|$)/.test(path) ? shelfErrorBody(error, path) : requestErrorBody(error, path);
  for (const header of ['content-disposition', 'content-length', 'content-range', 'etag', 'cache-control'])
    void reply.removeHeader(header);
  return reply
    .code(error.status)
    .headers({
      ...error.headers,
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
    })
    .send(body);
}

/** The path of a request's URL, without the query and what an absolute form puts before it. */
export function pathOf(url: string): string {
  const path = url.startsWith('/') ? url : url.replace(/^[a-z]+:\/\/[^/]*/i, '');
  const end = path.search(/[?#]/);
  return end < 0 ? path : path.slice(0, end);
}

/** Errors that are not ours say nothing of what is inside. */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const { code, statusCode, message } = thrown as Partial<FastifyError>;
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return unsupportedMediaType('The Content-Type of the request is not supported here', { cause: thrown });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ServiceError('request-refused', statusCode, reasonOf(statusCode), message ?? reasonOf(statusCode), {
      cause: thrown,
    });
  }
  return new ServiceError(
    'internal',
    500,
    'Internal Server Error',
    'The service failed to answer; its log has the cause under the request id',
    { cause: thrown },
  );
}

export const badUrl = (path: string): ServiceError =>
  malformedRequest(`${path} is not a valid URL path: check its percent signs`);
