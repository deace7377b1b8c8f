/**
 * The way of one knowledge object to the network: an HTTP proxy on loopback that makes the connections which the
 * operator allowed, and no others. Each has a port and a token of its own, so that nothing of one holds up another.
 *
 * It is made of the HTTP server of Node, whose parser is strict: packages that are proxies bring upstream proxies, SOCKS and
 * statistics, and leave to hooks what matters here: that names are resolved once, and the very addresses checked are connected to.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type HostPort, parseHostPort } from '../../lib/host-port.ts';
import { createServer } from '../../lib/http-module.ts';
import { sameSecret } from '../../lib/secret.ts';
import { forward } from './forward.ts';
import { NETWORK_LIMITS, type NetworkLimits } from './limits.ts';
import { Refusal } from './refusal.ts';
import type { Resolver } from './resolve.ts';
import { openTunnel } from './tunnel.ts';

export interface KoProxyOptions {
  readonly resolver: Resolver;
  /** Hears of what was not connected. */
  readonly onRefusal: (refusal: Refusal) => void;
  readonly limits?: NetworkLimits;
}

const USER = 'kgrid';
const HOST = '127.0.0.1';

export class KoProxy implements AsyncDisposable {
  readonly #resolver: Resolver;
  readonly #onRefusal: (refusal: Refusal) => void;
  readonly #limits: NetworkLimits;
  readonly #server: Server;
  readonly #token = randomBytes(32).toString('base64url');
  readonly #isAuthorization = sameSecret(`Basic ${Buffer.from(`${USER}:${this.#token}`).toString('base64')}`);
  /** Both ends of tunnels, which the server does not know of. */
  readonly #sockets = new Set<Socket>();
  #ended = false;

  /** Listens once it resolves. */
  static async open(options: KoProxyOptions): Promise<KoProxy> {
    const proxy = new KoProxy(options);
    proxy.#server.listen(0, HOST);
    await once(proxy.#server, 'listening');
    return proxy;
  }

  private constructor({ resolver, onRefusal, limits = NETWORK_LIMITS }: KoProxyOptions) {
    this.#resolver = resolver;
    this.#onRefusal = onRefusal;
    this.#limits = limits;
    this.#server = createServer(
      {
        maxHeaderSize: limits.headerBytes,
        headersTimeout: limits.headersMs,
        // The time of a body is bounded by that of its pauses.
        requestTimeout: 0,
        keepAliveTimeout: limits.halfOpenMs,
        connectionsCheckingInterval: Math.min(1000, limits.headersMs),
      },
      (request, response) => void this.#forward(request, response),
    );
    this.#server.maxConnections = limits.connections;
    this.#server.setTimeout(limits.idleMs);
    this.#server.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      void this.#connect(request, socket, head);
    });
    this.#server.on('connection', (socket: Socket) => this.#keep(socket));
    this.#server.on('drop', () =>
      this.#onRefusal(new Refusal(503, `more than ${String(limits.connections)} connections at a time are refused`)),
    );
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** With its token. */
  get url(): string {
    return `http://${USER}:${this.#token}@${HOST}:${String(this.port)}`;
  }

  async #connect(request: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    client.on('error', () => client.destroy());
    try {
      this.#authorize(request);
      const target = parseHostPort(request.url ?? '');
      if (target === undefined) throw new Refusal(400, 'CONNECT takes a host and a port, such as api.example.org:443');
      const addresses = await this.#resolver.resolve(target);
      if (client.destroyed || this.#ended) return void client.destroy();
      const upstream = await openTunnel({ client, head, target, addresses, limits: this.#limits });
      this.#keep(upstream);
      // It may have ended while the connection was made.
      if (this.#ended) upstream.destroy();
    } catch (thrown) {
      this.#refuse(toRefusal(thrown), client);
    }
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => response.destroy());
    try {
      this.#authorize(request);
      const url = toPlainUrl(request.url ?? '');
      const target = targetOf(url);
      const addresses = await this.#resolver.resolve(target);
      await forward({ request, response, url, target, addresses, limits: this.#limits });
    } catch (thrown) {
      const refusal = toRefusal(thrown);
      this.#tell(refusal);
      if (response.headersSent) return void response.destroy();
      // What is left of the request is not read.
      response.writeHead(refusal.status, lineOf(refusal), { ...headersOf(refusal), connection: 'close' });
      response.end(refusal.message, () => request.destroy());
    }
  }

  /** @throws Refusal, which says nothing of what was wrong. */
  #authorize({ headers }: IncomingMessage): void {
    if (!this.#isAuthorization(headers['proxy-authorization']))
      throw new Refusal(AUTHENTICATION, 'this proxy is for one knowledge object alone');
  }

  #refuse(refusal: Refusal, client: Duplex): void {
    this.#tell(refusal);
    if (client.destroyed) return;
    const headers = { ...headersOf(refusal), connection: 'close' };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    client.end(`HTTP/1.1 ${String(refusal.status)} ${lineOf(refusal)}\r\n${lines.join('')}\r\n${refusal.message}`, () =>
      client.destroy(),
    );
  }

  #tell(refusal: Refusal): void {
    if (refusal.status !== AUTHENTICATION && !this.#ended) this.#onRefusal(refusal);
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

const AUTHENTICATION = 407;

/** Where a client says why it was refused, it says this line. */
const lineOf = ({ message }: Refusal): string => message.replace(/[^ -~]/g, '?');

const headersOf = ({ status, message }: Refusal): Record<string, string> => ({
  'content-type': 'text/plain; charset=utf-8',
  'content-length': String(Buffer.byteLength(message)),
  ...(status === AUTHENTICATION ? { 'proxy-authenticate': 'Basic realm="kgrid"' } : {}),
});

const toRefusal = (thrown: unknown): Refusal =>
  thrown instanceof Refusal ? thrown : new Refusal(502, 'the connection could not be made');

/** @throws Refusal. */
function toPlainUrl(written: string): URL {
  const url = /^http:\/\//i.test(written) ? URL.parse(written) : null;
  if (url !== null && url.username === '' && url.password === '') return url;
  throw new Refusal(400, 'this is a proxy: ask for CONNECT host:port, or for an absolute URL of http without a user');
}

/** @throws Refusal. */
function targetOf({ host }: URL): HostPort {
  const target = parseHostPort(host, HTTP_PORT);
  if (target === undefined) throw new Refusal(400, 'the URL names no host that can be connected to');
  return target;
}

const HTTP_PORT = 80;
