import { connect } from 'node:net';

export interface RawRequest {
  readonly method: string;
  /** Goes into the request line as it is. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface RawAnswer {
  /** 0 when the connection was closed without an answer. */
  readonly status: number;
  readonly text: string;
}

/** Sends a request by a bare socket, since every client library corrects what it sends. */
export function rawRequest(port: number, { method, target, headers, body = '' }: RawRequest): Promise<RawAnswer> {
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, Connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  if (body.length > 0) lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  const { promise, resolve } = Promise.withResolvers<RawAnswer>();
  let text = '';
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    socket.write(body);
  });
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => (text += chunk));
  // A server that refuses a request line may reset the connection; what counts is whether it answered.
  socket.on('error', () => undefined);
  socket.on('close', () => resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text }));
  return promise;
}

/** Runs `work` on every item, a few at a time. */
export async function forAll<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}
