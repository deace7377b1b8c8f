/** A reverse proxy that serves what is behind it below `/<prefix>`, and takes the prefix off. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PrefixProxy extends AsyncDisposable {
  /** With the prefix, without a slash at the end. */
  readonly url: string;
  /** Paths that were asked outside of the prefix. */
  readonly strays: readonly string[];
  passTo: (service: string) => void;
}

export async function prefixProxy(prefix: string): Promise<PrefixProxy> {
  let target = '';
  const strays: string[] = [];
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? '';
    if (!path.startsWith(`${prefix}/`)) {
      strays.push(path);
      outgoing.writeHead(404).end();
      return;
    }
    const { method, headers } = incoming;
    const passed = request(target + path.slice(prefix.length), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    strays,
    passTo: (service) => (target = service),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
