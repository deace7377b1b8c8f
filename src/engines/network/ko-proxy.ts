/**
 * The way of one knowledge object to the network: an HTTP proxy on loopback that makes the connections which the
 * operator allowed, and no others. Each has a port and a token of its own, so that nothing of one holds up another.
 *
 * It is made of the HTTP server of Node, whose parser is strict: packages that are proxies bring upstream proxies, SOCKS and
 * statistics, and leave to hooks what matters here: that names are resolved once, and the very addresses checked are connected to.
 */
import { randomBytes } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse, ClientRequest } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type HostPort, parseHostPort, formatHostPort } from '../../lib/host-port.ts';
import { createServer, request as requestOf } from '../../lib/http-module.ts';
import { sameSecret } from '../../lib/secret.ts';
import { NETWORK_LIMITS, type NetworkLimits, Refusal } from './permission.ts';
import { type Resolver, connectTo } from './resolve.ts';

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

export interface TunnelRequest {
  readonly client: Socket;
  /** What came behind the head of its request. */
  readonly head: Buffer;
  readonly target: HostPort;
  readonly addresses: readonly LookupAddress[];
  readonly limits: NetworkLimits;
}

/**
 * Bytes go both ways as fast as the slower side takes them. It ends when both sides have sent all, when one breaks off, and
 * after a time without a byte. @returns the other end. @throws Refusal before anything was answered.
 */
export async function openTunnel({ client, head, target, addresses, limits }: TunnelRequest): Promise<Socket> {
  const upstream = await connectTo(target, addresses, limits.connectMs);
  const end = (): void => {
    client.destroy();
    upstream.destroy();
  };
  client.setTimeout(0);
  for (const each of [client, upstream]) each.on('error', end).on('close', end);
  if (client.destroyed) {
    end();
    return upstream;
  }
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) upstream.write(head);
  // Each byte passes both, so that either of them knows of a rest.
  upstream.setTimeout(limits.idleMs, end);
  for (const each of [client, upstream]) each.once('end', () => upstream.setTimeout(limits.halfOpenMs));
  client.pipe(upstream).pipe(client);
  return upstream;
}

export interface ForwardedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly target: HostPort;
  readonly addresses: readonly LookupAddress[];
  readonly limits: NetworkLimits;
}

/** Sends it on, with the host of its address whatever else it says, and its answer back. @throws Refusal. */
export async function forward({ request, response, url, target, addresses, limits }: ForwardedRequest): Promise<void> {
  const socket = await connectTo(target, addresses, limits.connectMs);
  if (response.destroyed) return void socket.destroy();
  response.once('close', () => socket.destroy());
  socket.setTimeout(limits.idleMs, () => socket.destroy());
  const onward = requestOf({
    createConnection: () => socket,
    method: request.method ?? 'GET',
    path: `${url.pathname}${url.search}`,
    setHost: false,
    headers: { ...endToEnd(request), host: url.host, connection: 'close', ...framing(request) },
  });
  try {
    // An answer may come before the body was read; what goes wrong with that ends `onward`.
    pipeline(request, onward).catch(() => undefined);
    const answer = await answerTo(onward);
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer));
    await pipeline(answer, response);
  } catch (thrown) {
    socket.destroy();
    throw new Refusal(502, `${formatHostPort(target)} broke off before it had answered`, { cause: thrown });
  }
}

async function answerTo(onward: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(onward, 'response')) as [IncomingMessage];
  return answer;
}

/** What concerns one connection alone, and the credentials of this proxy. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect', 'http2-settings'],
]);

/** The others, each as often as it is there. */
function endToEnd({ headers, headersDistinct }: IncomingMessage): Record<string, string[]> {
  const named = new Set((headers.connection ?? '').split(',').map((each) => each.trim().toLowerCase()));
  const kept = Object.entries(headersDistinct).filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name));
  return Object.fromEntries(kept.map(([name, values]) => [name, values ?? []]));
}

/** Where a body begins and ends must be said anew: Node leaves it out for methods that have none as a rule. */
const framing = ({ headers }: IncomingMessage): Record<string, string> =>
  headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' };
