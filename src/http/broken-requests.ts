/** What is not HTTP, is too slow or has headers that are too large never becomes a request. */
import type { Socket } from 'node:net';
import { requestErrorBody, toServiceError } from './errors.ts';
import { ERROR_HEADER } from './headers.ts';
import type { RequestIds } from './request-ids.ts';

/** For the `clientError` of a server. `streaming`: connections on which an answer goes out while its request comes in. */
export function answerBrokenRequests(
  ids: RequestIds,
  streaming: { has(socket: Socket): boolean },
): (error: Error & { code?: string }, socket: Socket) => void {
  return (error, socket) => {
    if (streaming.has(socket)) {
      // Those may arrive as long as they like, and an answer has begun already.
      if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroy();
      return;
    }
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = STATUS_BY_CODE[error.code ?? ''] ?? 400;
    const refusal = toServiceError({
      statusCode: status,
      message: MESSAGES[status] ?? 'The request is not valid HTTP',
    });
    const body = requestErrorBody(refusal, '');
    const head = [
      `HTTP/1.1 ${requestErrorStatus(body)}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${ids.make()}`,
      `${ERROR_HEADER}: ${refusal.code}`,
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  };
}

const STATUS_BY_CODE: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };
const MESSAGES: Readonly<Record<number, string>> = {
  408: 'The request did not arrive in time',
  431: 'The headers of the request are too large',
};
const requestErrorStatus = (body: string): string => (JSON.parse(body) as { Status: string }).Status;
