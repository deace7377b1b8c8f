/** A collector that takes what a service exports, and reads it by the published definitions. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { readExport, type ReadSpan } from './read-export.ts';

export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly spans: ReadSpan[];
  readonly headers: IncomingHttpHeaders[];
  /** Waits until that many spans are there for which it holds. */
  until(holds: (span: ReadSpan) => boolean, count?: number): Promise<ReadSpan[]>;
}

/** What did not come by then does not come: whoever waits says what is missing. */
const LONGEST_WAIT_MS = 60_000;

export async function startCollector(): Promise<Collector> {
  const spans: ReadSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let came = Promise.withResolvers<undefined>();
  const server = createServer((request, response) => {
    headers.push({ ...request.headers, ':path': request.url ?? '' });
    void buffer(request).then((body) => {
      spans.push(...readExport(body));
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
      came.resolve(undefined);
      came = Promise.withResolvers();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    async until(holds, count = 1) {
      const late = AbortSignal.timeout(LONGEST_WAIT_MS);
      const over = new Promise<void>((resolve) => late.addEventListener('abort', () => resolve()));
      for (;;) {
        const found = spans.filter(holds);
        if (found.length >= count || late.aborted) return found;
        await Promise.race([came.promise, over]);
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
