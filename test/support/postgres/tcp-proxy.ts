/** A TCP proxy that loses, delays or cuts what goes to a server and comes from it. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Nothing passes any more, in either direction, and nobody is told. */
  isSilent: boolean;
  /** New connections are refused. */
  isClosed: boolean;
  /** Milliseconds that each piece from the client waits. */
  delay: number;
  /** Told of each piece that a client sends; `cut-after` passes it on, and ends the connection at the answer. */
  onRequest: (bytes: Buffer) => 'pass' | 'cut' | 'cut-after';
  cutAll(): void;
}

export async function tcpProxy(target: () => number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (proxy.isClosed) {
      client.destroy();
      return;
    }
    const upstream = connect(target(), '127.0.0.1');
    let cutsAnswer = false;
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => (sockets.delete(socket), cut()));
    }
    client.on('data', (bytes: Buffer) => {
      if (proxy.isSilent) return;
      const what = proxy.onRequest(bytes);
      if (what === 'cut') return cut();
      cutsAnswer ||= what === 'cut-after';
      if (proxy.delay === 0) upstream.write(bytes);
      else setTimeout(() => upstream.write(bytes), proxy.delay);
    });
    upstream.on('data', (bytes: Buffer) => {
      if (cutsAnswer) cut();
      else if (!proxy.isSilent) client.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    isSilent: false,
    isClosed: false,
    delay: 0,
    onRequest: () => 'pass',
    cutAll() {
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      proxy.cutAll();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
