import type { Socket } from 'node:net';
import { StartManifests } from './start-manifests.ts';

/** Where the service is between its start and its end; readiness depends on it. */
export class Lifecycle {
  /** Every endpoint of the local engines was decided, and the manifests were imported. */
  started = false;
  /** Connections that came since: health tells them of it, and nothing else is begun for them. */
  readonly late = new WeakSet<Socket>();

  readonly #left = new AbortController();
  readonly #stopped = new AbortController();

  /** It was asked to stop, and load balancers are told so: calls still work. */
  get draining(): boolean {
    return this.#left.signal.aborted;
  }

  leave(): void {
    this.#left.abort();
  }

  /** Aborted once it was asked to stop. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** It stops: nothing new is begun. */
  get stopping(): boolean {
    return this.#stopped.signal.aborted;
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Aborted once it stops. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Those that the operator named for the start. */
  readonly manifests = new StartManifests();

  /** It was asked to stop. */
  get leaving(): boolean {
    return this.draining || this.stopping;
  }

  get ready(): boolean {
    return this.started && !this.leaving;
  }
}
