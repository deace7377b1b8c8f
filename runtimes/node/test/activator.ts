/** Plays the activator for a runtime: serves artifacts, takes registrations and answers nested calls. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers `POST /{uri}`. */
export type OnCall = (request: SeenRequest) => Promise<{ status: number; body: unknown }>;

export class TestActivator implements AsyncDisposable {
  /** Files by `<naan>/<name>/<version>/<path>`. */
  readonly files = new Map<string, string | Buffer>();
  readonly requests: SeenRequest[] = [];
  onCall: OnCall = () => Promise.resolve({ status: 404, body: { Detail: 'No active endpoints found' } });
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<TestActivator> {
    const server = createServer((request, response) => {
      const path = decodeURI((request.url ?? '').slice(1));
      void text(request).then(async (body) => {
        const seen = { method: request.method ?? '', path, headers: request.headers, body };
        activator.requests.push(seen);
        const { status, bytes } = await activator.#answer(seen);
        response.writeHead(status, { 'content-type': 'application/json' }).end(bytes);
      });
    });
    const activator = new TestActivator(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return activator;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get registrations(): Record<string, unknown>[] {
    return this.requests
      .filter(({ path }) => path === 'proxy/environments')
      .map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  }

  get fetched(): string[] {
    return this.requests.filter(({ method }) => method === 'GET').map(({ path }) => path);
  }

  /** Puts files of a knowledge object. */
  put(ko: string, files: Readonly<Record<string, string | Buffer>>): void {
    for (const [path, content] of Object.entries(files)) this.files.set(`${ko}/${path}`, content);
  }

  async #answer(request: SeenRequest): Promise<{ status: number; bytes: string | Buffer }> {
    if (request.path === 'proxy/environments') {
      return { status: 200, bytes: JSON.stringify({ ...(JSON.parse(request.body) as object), status: 'new' }) };
    }
    if (request.path.startsWith('proxy/artifacts/')) {
      const file = this.files.get(request.path.slice('proxy/artifacts/'.length));
      return file === undefined ? { status: 404, bytes: '{}' } : { status: 200, bytes: file };
    }
    const { status, body } = await this.onCall(request);
    return { status, bytes: JSON.stringify(body) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
