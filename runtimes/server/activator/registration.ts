/** Tells the activator that this runtime is here: at the start until it answers, and then as a heartbeat. */
import { Backoff } from '../../../src/lib/backoff.ts';
import { messageOf } from '../../../src/lib/errors.ts';
import { activatorUnreachable } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { ActivatorClient } from './client.ts';

export interface RuntimeIdentity {
  readonly app: string;
  readonly version: string;
  readonly engine: string;
  readonly url: string;
}

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 10_000;

export class Registration {
  readonly #activator: ActivatorClient;
  readonly #identity: RuntimeIdentity;
  readonly #heartbeatMs: number;
  readonly #log: Log;
  #registered = false;
  #isFailing = false;
  readonly #backoff = new Backoff(FIRST_RETRY_MS, LONGEST_RETRY_MS);
  #timer: NodeJS.Timeout | undefined;

  /** @param heartbeatMs 0 for none. */
  constructor(activator: ActivatorClient, identity: RuntimeIdentity, heartbeatMs: number, log: Log) {
    this.#activator = activator;
    this.#identity = identity;
    this.#heartbeatMs = heartbeatMs;
    this.#log = log;
  }

  start(): void {
    void this.#heartbeat();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /**
   * @param forceUpdate asks the activator to activate all endpoints of this engine again.
   * @returns the activator's answer. @throws activatorUnreachable.
   */
  async register(forceUpdate: boolean): Promise<unknown> {
    const { status, body } = await this.#activator.exchange('proxy/environments', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ ...this.#identity, forceUpdate }),
      timeoutMs: 10_000,
      maxBytes: 1_000_000,
    });
    if (status !== 200) throw activatorUnreachable(`The activator refused the registration with ${status}`);
    this.#registered = true;
    return JSON.parse(body.toString('utf8'));
  }

  async #heartbeat(): Promise<void> {
    try {
      const first = !this.#registered;
      await this.register(first);
      if (first || this.#isFailing) this.#log.info('registered', { url: this.#identity.url });
      this.#isFailing = false;
    } catch (error) {
      // The same reason every few seconds tells nobody more.
      if (!this.#isFailing) this.#log.warn('not registered', { reason: messageOf(error) });
      this.#isFailing = true;
    }
    const next = this.#registered ? this.#heartbeatMs : this.#backoff.next();
    if (next > 0) this.#timer = setTimeout(() => void this.#heartbeat(), next);
  }
}
