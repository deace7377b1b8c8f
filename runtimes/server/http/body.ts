/** Request bodies and answers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { megabytes } from '../../../src/engines/supervisor/packages/errors.ts';
import { bodyTooLarge, malformedRequest, messageOf, unsupportedMediaType } from '../../../src/lib/errors.ts';
import type { ServiceError } from '../../../src/lib/errors.ts';
import { GrowingBytes } from '../../../src/lib/growing-bytes.ts';
import { isJson, mediaTypeOf } from '../../../src/lib/media-type.ts';
import { isInProcessing } from '../lib/errors.ts';

/** Gives the body as text when it is complete; an error where it is larger than allowed. Nothing where the client left. */
export function readText(
  request: IncomingMessage,
  limit: number,
  done: (error: ServiceError | undefined, text: string) => void,
): void {
  const bytes = new GrowingBytes();
  let isTooLarge = false;
  request.on('data', (chunk: Buffer) => {
    bytes.add(chunk);
    if (bytes.size <= limit) return;
    isTooLarge = true;
    request.removeAllListeners('data').resume();
    bytes.clear();
    done(bodyTooLarge(`The body is larger than the limit of ${megabytes(limit)}`), '');
  });
  request.on('end', () => {
    if (!isTooLarge) done(undefined, bytes.take().toString('utf8'));
  });
}

/** @throws unsupportedMediaType, bodyTooLarge, malformedRequest. */
export async function readJson(request: IncomingMessage, limit: number): Promise<unknown> {
  if (!isJson(mediaTypeOf(request.headers['content-type'])))
    throw unsupportedMediaType('Content-Type must be application/json');
  const text = await new Promise<string>((resolve, reject) => {
    readText(request, limit, (error, body) => (error ? reject(error) : resolve(body)));
  });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformedRequest(`The body is not valid JSON: ${messageOf(error)}`);
  }
}

export function sendJson(
  response: ServerResponse,
  code: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(code, {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

/** The protocol gives `status` a meaning where an endpoint is in processing. */
export function sendError(response: ServerResponse, error: ServiceError): void {
  const { status: code, title: status, message: description, headers } = error;
  sendJson(response, code, isInProcessing(error) ? { status, description } : { description }, headers);
}
