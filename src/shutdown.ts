/**
 * Stops the service: readiness is DOWN at once, calls in progress finish, and the process ends within the grace
 * period whatever its connections and sandboxes do. A second signal ends it at once.
 */
import type { App } from './app.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Logger } from './lib/log.ts';

const LOOK_AGAIN = 100;

export class Shutdown {
  readonly #grace: number;
  readonly #log: Logger;
  readonly #lifecycle: Lifecycle;

  constructor(grace: number, lifecycle: Lifecycle, log: Logger) {
    this.#lifecycle = lifecycle;
    this.#grace = grace;
    this.#log = log;
  }

  watch(app: App): void {
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
    const sweep = setInterval(() => server.server.closeIdleConnections(), LOOK_AGAIN);
    const deadline = setTimeout(() => server.server.closeAllConnections(), this.#grace);
    await server.close();
    clearInterval(sweep);
    clearTimeout(deadline);
    await app[Symbol.asyncDispose]();
    this.#log.info({ event: 'stopped' }, 'Stopped');
  }
}
