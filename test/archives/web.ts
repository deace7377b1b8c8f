/** Small web servers on the loopback address, for what an import may meet. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Answer = Buffer | string | ((request: IncomingMessage, response: ServerResponse) => void);

export interface Web extends AsyncDisposable {
  /** Without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** `<method> <path>` of all requests so far. */
  readonly requests: readonly string[];
  /** Connections that are open now. */
  readonly open: () => number;
}

/** Serves by path; anything else is 404. */
export async function web(answers: Readonly<Record<string, Answer>>): Promise<Web> {
  const requests: string[] = [];
  let open = 0;
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const answer = answers[request.url ?? ''];
    if (answer === undefined) response.writeHead(404).end();
    else if (typeof answer === 'function') answer(request, response);
    else response.end(answer);
  });
  server.on('connection', (socket) => {
    open++;
    socket.on('error', () => undefined).on('close', () => open--);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    open: () => open,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
