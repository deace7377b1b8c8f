/** Requests to the activator: bounded in time and size, with the credentials it wants and nobody else gets. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { activationFailed, codeOf, megabytes } from '../../../src/engines/supervisor/packages/errors.ts';
import { messageOf } from '../../../src/lib/errors.ts';
import { activatorUnreachable } from '../lib/errors.ts';
import { GrowingBytes } from '../../../src/lib/growing-bytes.ts';

export interface Exchange {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

export const secretHeader = 'x-kgrid-runtime-secret';

export class ActivatorClient {
  readonly #url: URL;
  readonly #credentials: Record<string, string> = {};
  readonly #http = new HttpAgent({ keepAlive: true, maxFreeSockets: 32 });
  readonly #https = new HttpsAgent({ keepAlive: true, maxFreeSockets: 32 });

  /** @param url the activator's address, ending with a slash. */
  constructor(url: URL, authorization: string | undefined, secret: string | undefined) {
    this.#url = url;
    if (authorization) this.#credentials['authorization'] = authorization;
    if (secret) this.#credentials[secretHeader] = secret;
  }

  /**
   * @param target a path relative to the activator's address, or an absolute address.
   * @throws activatorUnreachable where there is no complete answer within the limits.
   */
  async exchange(target: string, exchange: Exchange): Promise<Answer> {
    const url = new URL(target, this.#url);
    const { method, timeoutMs, maxBytes, body = '' } = exchange;
    const headers = {
      ...exchange.headers,
      ...(url.origin === this.#url.origin ? this.#credentials : {}),
      ...(method === 'POST' ? { 'content-length': String(Buffer.byteLength(body)) } : {}),
    };
    const options = { method, headers, signal: AbortSignal.timeout(Math.max(1, Math.ceil(timeoutMs))) };
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const request =
          url.protocol === 'https:'
            ? httpsRequest(url, { ...options, agent: this.#https }, resolve)
            : httpRequest(url, { ...options, agent: this.#http }, resolve);
        request.once('error', reject).end(body);
      });
      return { status: response.statusCode ?? 0, body: await read(response, maxBytes) };
    } catch (error) {
      throw activatorUnreachable(`${url.host} ${reason(error, timeoutMs, maxBytes)}`);
    }
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

class TooMuch extends Error {}

async function read(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const bytes = new GrowingBytes();
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes.add(chunk);
    if (bytes.size > maxBytes) throw new TooMuch();
  }
  return bytes.take();
}

function reason(error: unknown, timeoutMs: number, maxBytes: number): string {
  if (error instanceof TooMuch) return `answered more than ${megabytes(maxBytes)}`;
  if (error instanceof Error && error.name === 'AbortError')
    return `did not answer within ${Math.round(timeoutMs / 10) / 100} s`;
  return `could not be reached (${codeOf(error) ?? 'no connection'})`;
}

const artifactLimits = { fileBytes: 100_000_000, fileMs: 60_000 } as const;

/** An artifact of a knowledge object; empty where it may be missing and is. @throws ActivationFailure. */
export async function fetchArtifact(
  activator: ActivatorClient,
  baseUrl: URL,
  path: string,
  mayBeMissing: boolean,
): Promise<Buffer> {
  const url = new URL(path.split('/').map(encodeURIComponent).join('/'), baseUrl);
  const { fileMs: timeoutMs, fileBytes: maxBytes } = artifactLimits;
  const { status, body } = await activator
    .exchange(url.href, { method: 'GET', timeoutMs, maxBytes })
    .catch((thrown: unknown) => {
      throw activationFailed(messageOf(thrown));
    });
  if (status === 404 && mayBeMissing) return Buffer.alloc(0);
  if (status !== 200) throw activationFailed(`The activator answered ${status} for it`);
  return body;
}
