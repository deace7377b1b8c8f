/** A proxy of one knowledge object, and what it leads to: real sockets on loopback. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { parseHostPort } from '../../../src/lib/host-port.ts';
import type { HostPort } from '../../../src/lib/host-port.ts';
import { KoProxy } from '../../../src/engines/network/ko-proxy.ts';
import {
  NETWORK_LIMITS,
  type NetworkLimits,
  type NetworkPermission,
  type Refusal,
} from '../../../src/engines/network/permission.ts';
import { Resolver } from '../../../src/engines/network/resolve.ts';
import type { Lookup } from '../../../src/engines/network/resolve.ts';

const TLS = new URL('../tls/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, TLS), 'utf8');

/** Path of the certificate of the authority that stands for the servers of tests. */
export const AUTHORITY = new URL('authority.pem', TLS).pathname;

export interface Place extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
}

/** Listens, and breaks off all that is open at its end. */
async function listening(server: Server, host: string, port = 0): Promise<Place> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  server.listen(port, host);
  await once(server, 'listening');
  return {
    server,
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const each of sockets) each.destroy();
      await closed;
    },
  };
}

export const tcp = (onConnection: (socket: Socket) => void, host = '127.0.0.1', port?: number): Promise<Place> =>
  listening(createServer({ allowHalfOpen: true }, onConnection), host, port);

export const http = (onRequest: RequestListener, host = '127.0.0.1'): Promise<Place> =>
  listening(createHttpServer(onRequest), host);

export const https = (onRequest: RequestListener, host = '127.0.0.1'): Promise<Place> =>
  listening(createTlsServer({ key: read('localhost.key'), cert: read('localhost.pem') }, onRequest), host);

/** Sends back what comes. */
export const echo = (host?: string): Promise<Place> => tcp((socket) => void socket.pipe(socket), host);

export interface Proxied extends AsyncDisposable {
  readonly proxy: KoProxy;
  /** What it told of, in order. */
  readonly refusals: Refusal[];
  /** Its own `Proxy-Authorization`. */
  readonly authorization: string;
}

export interface ProxiedOptions extends Partial<NetworkPermission> {
  /** `host:port`. */
  readonly allow?: readonly string[];
  readonly wanted?: readonly HostPort[];
  readonly lookup?: Lookup;
  readonly limits?: Partial<NetworkLimits>;
}

export const target = (text: string): HostPort => {
  const found = parseHostPort(text);
  if (found === undefined) throw new Error(`${text} is no host and port`);
  return found;
};

export async function proxied(options: ProxiedOptions = {}): Promise<Proxied> {
  const { allow = [], any = false, ports = [], wanted = [], lookup } = options;
  const limits = { ...NETWORK_LIMITS, ...options.limits };
  const refusals: Refusal[] = [];
  const permission = { any, hosts: allow.map(target), ports };
  const proxy = await KoProxy.open({
    resolver: new Resolver({
      name: '99999/net',
      permission,
      wanted: () => wanted,
      lookup,
      timeoutMs: limits.connectMs,
    }),
    onRefusal: (refusal) => refusals.push(refusal),
    limits,
  });
  const { username, password } = new URL(proxy.url);
  return {
    proxy,
    refusals,
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  };
}

/** A name server of the test: each name with its addresses, or with one list for each time that it is asked. */
export function names(known: Readonly<Record<string, readonly string[] | readonly (readonly string[])[]>>): {
  readonly lookup: Lookup;
  /** In the order in which they were asked for. */
  readonly asked: string[];
} {
  const asked: string[] = [];
  const lookup: Lookup = (name, _options, callback) => {
    const times = asked.filter((each) => each === name).length;
    asked.push(name);
    const found = known[name];
    if (found === undefined) return callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    const each = found.map((one) => (typeof one === 'string' ? [one] : one));
    const addresses = typeof found[0] === 'string' ? each.flat() : (each[Math.min(times, each.length - 1)] ?? []);
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { lookup, asked };
}

export interface Answer {
  readonly status: number;
  /** The first line. */
  readonly line: string;
  readonly head: string;
  /** What came behind the head so far, or to the end where it is no tunnel. */
  readonly rest: string;
  readonly socket: Socket;
}

/** Sends text to a port and reads the head of the answer; all of the answer where that is no open tunnel. */
export async function send(port: number, text: string | Buffer): Promise<Answer> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write(text);
  let found = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    found += chunk.toString('latin1');
    if (/^HTTP\/1\.1 200 Connection established\r\n\r\n/.test(found)) break;
  }
  const [head = '', ...rest] = found.split('\r\n\r\n');
  const [line = ''] = head.split('\r\n', 1);
  return { status: Number(line.split(' ')[1] ?? 0), line, head, rest: rest.join('\r\n\r\n'), socket };
}

export const connectText = (to: string, authorization: string, more = ''): string =>
  `CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\nProxy-Authorization: ${authorization}\r\n\r\n${more}`;

/** An open tunnel, or the refusal. */
export const tunnel = ({ proxy, authorization }: Proxied, to: string, more?: string): Promise<Answer> =>
  send(proxy.port, connectText(to, authorization, more));

/** What a server of TLS answers through an open tunnel. */
export async function getByTls({ socket }: Answer, host: string): Promise<string> {
  const secure = connectTls({ socket, servername: host, ca: read('authority.pem') });
  secure.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let found = '';
  for await (const chunk of secure as AsyncIterable<Buffer>) found += chunk.toString();
  return found;
}
