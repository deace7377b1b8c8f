/**
 * Stops the service: readiness is DOWN at once, calls in progress finish, and the process ends within the grace
 * period whatever its connections and sandboxes do. A second signal ends it at once.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { App } from './app.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Logger } from './lib/log.ts';

const LOOK_AGAIN = 100;

export class Shutdown {
  readonly #grace: number;
  readonly #log: Logger;
  readonly #lifecycle: Lifecycle;
  readonly #connections = new Set<Socket>();

  constructor(grace: number, lifecycle: Lifecycle, log: Logger) {
    this.#lifecycle = lifecycle;
    this.#grace = grace;
    this.#log = log;
  }

  watch(app: App): void {
    app.server.server.on('connection', (socket: Socket) => {
      if (this.#lifecycle.stopping) this.#lifecycle.late.add(socket);
      else this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
    const onSignal = (signal: NodeJS.Signals): void => {
      if (this.#lifecycle.stopping) process.exit(1);
      this.#lifecycle.stopping = true;
      this.#log.info({ event: 'stopping', signal }, `${signal}: finishing the calls in progress`);
      // The last resort, when even the end of the sandboxes hangs.
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), this.#grace + 5000).unref();
      void this.#stop(app).then(() => process.exit(0));
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  }

  async #stop({ server, ...app }: App): Promise<void> {
    await this.#drain(server.server);
    await server.close();
    await app[Symbol.asyncDispose]();
    this.#log.info({ event: 'stopped' }, 'Stopped');
  }

  /** Waits until the connections that are there have had their answers, and meanwhile tells new ones that it stops. */
  async #drain(http: Server): Promise<void> {
    const early = [...this.#connections];
    // Whoever keeps his connection busy has one more request answered, with `Connection: close`.
    http.maxRequestsPerSocket = 1;
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      http.closeIdleConnections();
      // Browsers open connections in advance, which do not count as idle before their first request.
      for (const socket of early) if (socket.bytesRead === 0) socket.destroy();
      if (early.every((socket) => socket.destroyed)) resolve();
    };
    const sweep = setInterval(look, LOOK_AGAIN);
    const deadline = setTimeout(resolve, this.#grace);
    look();
    await answered;
    clearInterval(sweep);
    clearTimeout(deadline);
    await this.#close(http);
  }

  async #close(http: Server): Promise<void> {
    const closed = new Promise<void>((resolve) => http.close(() => resolve()));
    const hard = setTimeout(() => http.closeAllConnections(), LOOK_AGAIN);
    await closed;
    clearTimeout(hard);
  }
}
