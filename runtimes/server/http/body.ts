/** Request bodies and answers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { refused, type RuntimeError, tooLarge, unsupportedMediaType } from '../lib/errors.ts';
import { GrowingBytes } from '../../../src/lib/growing-bytes.ts';

/** Gives the body as text when it is complete; an error where it is larger than allowed. Nothing where the client left. */
export function readText(
  request: IncomingMessage,
  limit: number,
  done: (error: RuntimeError | undefined, text: string) => void,
): void {
  const bytes = new GrowingBytes();
  let isTooLarge = false;
  request.on('data', (chunk: Buffer) => {
    bytes.add(chunk);
    if (bytes.size <= limit) return;
    isTooLarge = true;
    request.removeAllListeners('data').resume();
    bytes.clear();
    done(tooLarge(limit), '');
  });
  request.on('end', () => {
    if (!isTooLarge) done(undefined, bytes.take().toString('utf8'));
  });
}

/** @throws RuntimeError 400, 413, 415. */
export async function readJson(request: IncomingMessage, limit: number): Promise<unknown> {
  if (!isJson(request.headers['content-type'])) throw unsupportedMediaType();
  const text = await new Promise<string>((resolve, reject) => {
    readText(request, limit, (error, body) => (error ? reject(error) : resolve(body)));
  });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refused(`The body is not valid JSON: ${(error as Error).message}`);
  }
}

export const isJson = (contentType: string | undefined): boolean =>
  contentType !== undefined && /^\s*[\w.-]+\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType);

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

export function sendError(response: ServerResponse, error: RuntimeError): void {
  const { status, message: description } = error;
  sendJson(response, error.code, status === undefined ? { description } : { status, description }, error.headers);
}
