/** A plain HTTP client: paths go on the wire as they are written, nothing is normalised or followed. */
import { request } from 'node:http';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { buffer, text as textOf } from 'node:stream/consumers';

export type JsonObject = Record<string, unknown>;

export class Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;

  constructor(status: number, headers: IncomingHttpHeaders, bytes: Buffer) {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
  }

  get text(): string {
    return this.bytes.toString('utf8');
  }

  get json(): unknown {
    try {
      return JSON.parse(this.text) as unknown;
    } catch (cause) {
      throw new Error(`Expected JSON with status ${this.status}, got: ${this.text.slice(0, 300)}`, { cause });
    }
  }

  get object(): JsonObject {
    const value = this.json;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Error(`Expected a JSON object with status ${this.status}, got: ${this.text.slice(0, 300)}`);
    }
    return value as JsonObject;
  }

  get list(): JsonObject[] {
    const value = this.json;
    if (!Array.isArray(value)) {
      throw new Error(`Expected a JSON array with status ${this.status}, got: ${this.text.slice(0, 300)}`);
    }
    return value as JsonObject[];
  }
}

export interface Sent {
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

export type Send = (method: string, path: string, sent?: Sent) => Promise<Answer>;

/** Sends requests to `base`; `credentials` (`user:password`) go with each that has no `authorization` of its own. */
export const sender =
  (base: string, credentials?: string): Send =>
  (method, path, sent = {}) =>
    new Promise((resolve, reject) => {
      const { hostname, port, pathname } = new URL(base);
      const outgoing = request({
        host: hostname.replace(/^\[|\]$/g, ''),
        port,
        method,
        path: pathname.replace(/\/$/, '') + path,
        headers: {
          ...(credentials === undefined ? {} : { authorization: basic(credentials) }),
          ...(sent.body === undefined || sent.headers?.['transfer-encoding'] !== undefined
            ? {}
            : { 'content-length': Buffer.byteLength(sent.body) }),
          ...sent.headers,
        },
        agent: false,
        signal: AbortSignal.timeout(120_000),
      });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        buffer(incoming).then((bytes) => {
          resolve(new Answer(incoming.statusCode ?? 0, incoming.headers, bytes));
        }, reject);
      });
      outgoing.end(sent.body);
    });

export const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`;

/** Writes the text to a connection as it is, and gives all that comes back until the service closes it. */
export async function exchange(base: string, text: string): Promise<string> {
  const { hostname, port } = new URL(base);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.setTimeout(60_000, () => socket.destroy(new Error('The service did not close the connection')));
  socket.write(text);
  return textOf(socket);
}

const BOUNDARY = 'acceptance-boundary';

/** A multipart body with one file in the field. */
export function upload(zip: Buffer, field = 'ko', filename = 'ko.zip'): Sent & { readonly body: Buffer } {
  const head =
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${field}"; filename="${filename}"\r\n` +
    'Content-Type: application/zip\r\n\r\n';
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, accept: '*/*' },
    body: Buffer.concat([Buffer.from(head), zip, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]),
  };
}

export const jsonBody = (value: unknown): Sent => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});
