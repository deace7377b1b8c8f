/**
 * Stops the service: readiness is DOWN at once, new requests are answered while load balancers learn of it, then calls in progress finish, and the process ends within the grace
 * period whatever its connections and sandboxes do. A second signal, after a moment, ends it at once.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { App } from './app.ts';
import type { Config } from './config/config.ts';
import type { Lifecycle } from './lifecycle.ts';
import { errorsIn } from './lib/dispose.ts';
import type { Logger } from './lib/log.ts';

const POLL_MS = 100;
/** Milliseconds in which further signals are the first one again: some programs tell a process and then its group. */
const SAME_SIGNAL_MS = 100;
/** … and under npm, which passes on the Ctrl-C that the terminal sent to both of them. */
const SAME_SIGNAL_BY_NPM_MS = 1000;
/** Milliseconds after which those who wait are told how not to. */
const LONG_MS = 1000;
/** The last is that of a terminal that was closed. */
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export class Shutdown {
  readonly #times: Pick<Config, 'drain' | 'shutdownGrace'>;
  readonly #log: Logger;
  readonly #lifecycle: Lifecycle;
  readonly #connections = new Set<Socket>();
  readonly #sameSignal: number;
  #endsAtOnce = false;

  constructor(times: Pick<Config, 'drain' | 'shutdownGrace'>, lifecycle: Lifecycle, log: Logger, byNpm: boolean) {
    this.#sameSignal = byNpm ? SAME_SIGNAL_BY_NPM_MS : SAME_SIGNAL_MS;
    this.#lifecycle = lifecycle;
    this.#times = times;
    this.#log = log;
  }

  watch(app: App): void {
    app.server.server.on('connection', (socket: Socket) => {
      if (this.#lifecycle.stopping) this.#lifecycle.late.add(socket);
      else this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
    const onSignal = (signal: NodeJS.Signals): void => {
      if (this.#lifecycle.leaving) {
        if (this.#endsAtOnce) process.exit(1);
        return;
      }
      const { drain, shutdownGrace } = this.#times;
      this.#lifecycle.leave();
      const first = drain === 0 ? '' : `answering new requests for ${drain / 1000} s more (--drain), then `;
      this.#log.info({ event: 'stopping', signal }, `${signal}: ${first}finishing the calls in progress`);
      // The last resort, when even the end of the sandboxes hangs.
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), drain + shutdownGrace + 5000).unref();
      setTimeout(() => (this.#endsAtOnce = true), this.#sameSignal).unref();
      const words = 'Requests are still in progress; a second signal ends them at once';
      setTimeout(() => this.#log.info({ event: 'stopping-takes-time' }, words), drain + LONG_MS).unref();
      void this.#stop(app).then((code) => process.exit(code));
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
  }

  /** Gives the exit code. */
  async #stop(app: App): Promise<0 | 1> {
    try {
      await using owned = new AsyncDisposableStack();
      owned.use(app);
      const http = app.server.server;
      // Whoever keeps his connection busy has one more request answered, with `Connection: close`.
      http.maxRequestsPerSocket = 1;
      if (this.#times.drain > 0) await wait(this.#times.drain);
      this.#lifecycle.stop();
      owned.defer(() => this.#finish(http));
    } catch (thrown) {
      for (const err of errorsIn(thrown)) this.#log.error({ err }, 'A step of the stop failed');
      this.#log.info({ event: 'stopped' }, 'Stopped, but not in order');
      return 1;
    }
    this.#log.info({ event: 'stopped' }, 'Stopped');
    return 0;
  }

  /** Waits until the connections that are there have had their answers, and meanwhile tells new ones that it stops. */
  async #finish(http: Server): Promise<void> {
    const early = [...this.#connections];
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      http.closeIdleConnections();
      // Browsers open connections in advance, which do not count as idle before their first request.
      for (const socket of early) if (socket.bytesRead === 0) socket.destroy();
      if (early.every((socket) => socket.destroyed)) resolve();
    };
    const sweep = setInterval(look, POLL_MS);
    const deadline = setTimeout(resolve, this.#times.shutdownGrace);
    look();
    await answered;
    clearInterval(sweep);
    clearTimeout(deadline);
    await this.#close(http);
  }

  async #close(http: Server): Promise<void> {
    const closed = new Promise<void>((resolve) => http.close(() => resolve()));
    const hard = setTimeout(() => http.closeAllConnections(), POLL_MS);
    await closed;
    clearTimeout(hard);
  }
}
