/** Tells the activator that this runtime is here: at the start until it answers, and then as a heartbeat. */
import { activatorUnreachable } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { ActivatorClient } from './client.ts';

export interface RuntimeIdentity {
  readonly app: string;
  readonly version: string;
  readonly engine: string;
  readonly url: string;
}

const retryMs = [1_000, 2_000, 5_000, 10_000] as const;

export class Registration {
  readonly #activator: ActivatorClient;
  readonly #identity: RuntimeIdentity;
  readonly #heartbeatMs: number;
  readonly #log: Log;
  #registered = false;
  #failures = 0;
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
   * @returns the activator's answer. @throws RuntimeError 502.
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
      if (first || this.#failures > 0) this.#log.info('registered', { url: this.#identity.url });
      this.#failures = 0;
    } catch (error) {
      // The same reason every few seconds tells nobody more.
      if (this.#failures === 0) this.#log.warn('not registered', { reason: (error as Error).message });
      this.#failures += 1;
    }
    const next = this.#registered ? this.#heartbeatMs : (retryMs[this.#failures - 1] ?? retryMs[3]);
    if (next > 0) this.#timer = setTimeout(() => void this.#heartbeat(), next);
  }
}
