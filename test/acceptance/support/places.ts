/** A web server of the test itself, for manifests to fetch from. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Respond = (request: IncomingMessage, response: ServerResponse) => void;
export type Place = Buffer | string | Respond;

export interface Places extends AsyncDisposable {
  readonly url: string;
  /** `<method> <path>` of each request, in order. */
  readonly asked: readonly string[];
}

/** Serves the places by their exact path, query included; others are 404. */
export async function servePlaces(places: Readonly<Record<string, Place>>): Promise<Places> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    const place = Object.hasOwn(places, request.url ?? '') ? places[request.url ?? ''] : undefined;
    if (typeof place === 'function') place(request, response);
    else if (place === undefined) response.writeHead(404).end();
    else {
      const type = typeof place === 'string' ? 'application/json' : 'application/octet-stream';
      response.writeHead(200, { 'content-type': type }).end(place);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
