/** Endpoints that could not be activated: tells of each, and knows which are tried again. */
import type { Logger } from 'pino';
import { koKey } from '../knowledge-object/id.ts';
import type { KoId } from '../knowledge-object/id.ts';
import type { Endpoint } from './endpoint.ts';
import type { LoadFailure } from './endpoint-set.ts';
import { LaterAttempts } from './later-attempts.ts';

/** Hears of each activation that was tried, with the milliseconds that it took. */
export type ActivationObserver = (endpoint: Endpoint, milliseconds: number) => void;

/** An endpoint that cannot be activated, or a knowledge object of which none can be loaded. */
export interface FailedActivation {
  readonly id: KoId;
  /** Path of the endpoint. */
  readonly endpoint?: string;
  readonly engine?: string;
  readonly reason: string;
}

export interface FailedEndpointsOptions {
  readonly log: Logger;
  readonly observe?: ActivationObserver | undefined;
  readonly onFailed?: ((failed: FailedActivation) => void) | undefined;
  /** Hears of each that has listed the functions of a library. */
  readonly onListed: (endpoint: Endpoint) => void;
}

export class FailedEndpoints implements Disposable {
  readonly #options: FailedEndpointsOptions;
  readonly #later = new LaterAttempts((endpoint) => this.#triedAgain(endpoint));
  /** Those of which something could not be read at that moment. */
  readonly unread = new Set<Endpoint>();

  constructor(options: FailedEndpointsOptions) {
    this.#options = options;
  }

  /** Those that are tried again by themselves, each with the time. */
  get triedAgain(): readonly Endpoint[] {
    return this.#later.endpoints;
  }

  /** An endpoint was activated, or could not be; `milliseconds`: what that took, where it was tried. */
  decided(endpoint: Endpoint, milliseconds: number | undefined): void {
    if (endpoint.transient) this.unread.add(endpoint);
    this.#later.add(endpoint);
    this.#tell(endpoint);
    if (endpoint.hasListed) this.#options.onListed(endpoint);
    else if (milliseconds !== undefined) this.#options.observe?.(endpoint, milliseconds);
  }

  /** A knowledge object of which no endpoint could be loaded. */
  unloaded({ id, cause }: LoadFailure): void {
    const facts = { event: 'activation-failed', ko: koKey(id), reason: cause };
    this.#options.log.warn(facts, `${koKey(id)} does not run: ${cause}`);
    this.#options.onFailed?.({ id, reason: cause });
  }

  /** Another one has its place, or none. */
  remove(endpoint: Endpoint): void {
    this.unread.delete(endpoint);
    this.#later.remove(endpoint);
  }

  [Symbol.dispose](): void {
    this.#later[Symbol.dispose]();
  }

  #triedAgain(endpoint: Endpoint): void {
    if (endpoint.hasListed) return this.#options.onListed(endpoint);
    this.#tell(endpoint);
    if (endpoint.status === 'ACTIVATED')
      this.#options.log.info(factsOf(endpoint, 'activated-later'), `${endpoint.id} is active now`);
    this.#options.observe?.(endpoint, endpoint.activatingMs ?? 0);
  }

  #tell(endpoint: Endpoint): void {
    if (endpoint.status !== 'FAILED_TO_ACTIVATE' || endpoint.isDisposed) return;
    const { id, ko, name, entry, detail: reason = '', triedAgainAt } = endpoint;
    const again = triedAgainAt === undefined ? {} : { triedAgainAt: new Date(triedAgainAt).toISOString() };
    this.#options.log.warn(
      { ...factsOf(endpoint, 'activation-failed'), reason, ...again },
      `${id} does not run: ${reason}`,
    );
    this.#options.onFailed?.({ id: ko.id, endpoint: name, engine: entry.engine, reason });
  }
}

const factsOf = ({ id, ko, entry, status }: Endpoint, event: string): Record<string, string> => ({
  ...{ event, ko: ko.key, endpoint: id, engine: entry.engine, status },
  digest: `sha256:${ko.entry.digest}`,
});
