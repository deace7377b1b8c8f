/** Sends NDJSON and reads the answer, as fast or as slowly as a test likes. */
import { once } from 'node:events';
import { request } from 'node:http';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';

export interface Line {
  readonly result?: unknown;
  readonly error?: { readonly Status: string; readonly Title: string; readonly Detail: string };
  readonly line?: number;
  readonly summary?: { readonly records: number; readonly failed: number };
}

export interface BatchResult {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly trailers: IncomingMessage['trailers'];
  readonly text: string;
  readonly lines: readonly Line[];
  /** False where the answer broke off. */
  readonly isWhole: boolean;
}

export const NDJSON = 'application/x-ndjson';

/** A request that is open; its body is written by the test. */
export function openBatch(url: string, path: string, headers: OutgoingHttpHeaders = {}): ClientRequest {
  const target = new URL(url);
  const outgoing = request({
    host: target.hostname,
    port: target.port,
    method: 'POST',
    path,
    headers: { 'content-type': NDJSON, 'transfer-encoding': 'chunked', ...headers },
    agent: false,
  });
  outgoing.on('error', () => undefined);
  return outgoing;
}

/** Reads the answer to its end, or to where it breaks off. */
export async function read(outgoing: ClientRequest): Promise<BatchResult> {
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return readAnswer(incoming);
}

export async function readAnswer(incoming: IncomingMessage): Promise<BatchResult> {
  let all = '';
  let isWhole = true;
  incoming.setEncoding('utf8').on('data', (part: string) => (all += part));
  await once(incoming, 'end').catch(() => (isWhole = false));
  const { statusCode: status = 0, headers, trailers } = incoming;
  return { status, headers, trailers, text: all, lines: linesOf(all), isWhole };
}

/** The lines that are whole. */
export const linesOf = (all: string): Line[] =>
  all
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

export function sendBatch(
  url: string,
  path: string,
  body: string | Buffer,
  headers: OutgoingHttpHeaders = {},
): Promise<BatchResult> {
  const outgoing = openBatch(url, path, headers);
  outgoing.end(body);
  return read(outgoing);
}
