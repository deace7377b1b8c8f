/** Connections on which a test sends what it likes, when it likes. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

export class RawClient implements Disposable {
  readonly socket: Socket;
  /** All that came back. */
  received = '';
  /** Epoch milliseconds of the end of the connection. */
  ended: number | undefined;
  readonly began = Date.now();
  readonly closed: Promise<void>;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect({ host: hostname, port: Number(port) });
    this.socket.on('error', () => undefined);
    // Not by `once` of events, which fails where an error comes first, such as that of a write to who has just closed.
    this.closed = new Promise((resolve) => {
      this.socket.once('close', () => {
        this.ended = Date.now();
        resolve();
      });
    });
    this.socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.received)?.[1] ?? 0);
  }

  async connected(): Promise<this> {
    if (this.socket.connecting) await Promise.race([once(this.socket, 'connect'), this.closed]);
    return this;
  }

  write(data: string | Buffer): void {
    if (this.socket.writable) this.socket.write(data);
  }

  /** Resolves when all that was written has left this process. */
  flushed(): Promise<void> {
    return new Promise((done) => {
      if (this.socket.writable) this.socket.write('', () => done());
      else done();
    });
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

export const postHead = (path: string, headers: Readonly<Record<string, string | number>>): string =>
  [`POST ${path} HTTP/1.1`, 'Host: test', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join(
    '\r\n',
  ) + '\r\n\r\n';
