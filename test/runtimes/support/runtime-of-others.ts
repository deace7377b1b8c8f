/** What the recorded runtimes have in common: a server on a port of its own, and all that it was asked. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { jsonBody } from '../../acceptance/support/client.ts';
import type { Answer, JsonObject, Send } from '../../acceptance/support/client.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Activator {
  readonly url: string;
  readonly send: Send;
}

/** Answers in place of the runtime; false where it leaves the request to it. */
export type Intercept = (asked: Asked, response: ServerResponse) => boolean | Promise<boolean>;

export abstract class RuntimeOfOthers implements AsyncDisposable {
  readonly engine: string;
  /** Bodies of `POST /endpoints`, in order. */
  readonly activations: JsonObject[] = [];
  readonly calls: Asked[] = [];
  /** What it fetched from the activator, by address. */
  readonly artifacts = new Map<string, string>();
  /** What the code of every endpoint does; gets the parsed input, or text where it is not JSON. */
  run: (input: unknown, path: string) => unknown = (input) => input;
  intercept: Intercept = () => false;
  /** Under which endpoints are called at present; a runtime that restarts holds none. */
  protected readonly held = new Set<string>();
  /** Where it registers, and fetches artifacts. */
  activator: Activator;
  #server: Server | undefined;
  #port: number;

  protected constructor(activator: Activator, engine: string, port: number) {
    this.activator = activator;
    this.engine = engine;
    this.#port = port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  register(forceUpdate: boolean, more: JsonObject = {}): Promise<Answer> {
    const registration = { engine: this.engine, url: this.url, version: '1.4.0', forceUpdate, ...more };
    return this.activator.send('POST', '/proxy/environments', jsonBody(registration));
  }

  async listen(): Promise<void> {
    const server = createServer((request, response) => void this.#take(request, response));
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Ends it as a crash would: connections break, and what it held is gone. */
  async kill(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.held.clear();
    if (server === undefined) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }

  /** It lost its endpoints, as in a restart that nobody noticed. */
  forget(): void {
    this.held.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  /** Takes in an endpoint; gives what it answers. */
  protected abstract activated(activation: JsonObject): JsonObject;
  /** How it reports what the code threw. */
  protected abstract failed(error: Error): { readonly status: number; readonly body: JsonObject };
  protected abstract send(response: ServerResponse, status: number, body: JsonObject): void;

  protected async handle(asked: Asked, response: ServerResponse): Promise<void> {
    if (await this.intercept(asked, response)) return;
    if (asked.method === 'GET' && asked.path === '/info') this.send(response, 200, this.info());
    else if (asked.method === 'POST' && asked.path === '/endpoints') await this.#activate(asked, response);
    else if (asked.method === 'POST') this.#execute(asked, response);
    else this.send(response, 404, { description: 'Not found' });
  }

  protected info(): JsonObject {
    return { app: `kgrid-${this.engine}`, version: '1.4.0', engine: this.engine, url: this.url, status: 'up' };
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    await this.handle(
      { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body },
      response,
    );
  }

  /** "Joins by concatenation and iterates the list." */
  async #activate(asked: Asked, response: ServerResponse): Promise<void> {
    const activation = JSON.parse(asked.body.toString()) as JsonObject;
    this.activations.push(activation);
    for (const artifact of activation['artifact'] as string[]) {
      const address = String(activation['baseUrl']) + artifact;
      const fetched = await this.activator.send('GET', new URL(address).pathname);
      this.artifacts.set(address, fetched.text);
    }
    this.send(response, 200, this.activated(activation));
  }

  #execute(asked: Asked, response: ServerResponse): void {
    this.calls.push(asked);
    const path = asked.path.slice(1);
    if (!this.held.has(path)) return this.send(response, 404, { description: `No endpoint ${path}` });
    const text = asked.body.toString();
    try {
      const input: unknown = asked.headers['content-type']?.startsWith('application/json') ? JSON.parse(text) : text;
      this.send(response, 200, { result: this.run(input, path), info: { engine: this.engine } });
    } catch (thrown) {
      const { status, body } = this.failed(thrown as Error);
      this.send(response, status, body);
    }
  }
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
