/** The knowledge object versions that have an active endpoint, and the watch over their workers. */
import type { Log } from '../lib/log.ts';
import { KoHost, type HostOptions } from './ko-host.ts';
import type { NestedCalls } from './nested-calls.ts';

export interface HostsOptions extends HostOptions {
  readonly idleTimeoutMs: number;
  /** Workers that may be kept with nothing to do. */
  readonly idleWorkers: number;
}

const watchMs = 100;

export class Hosts {
  readonly #options: HostsOptions;
  readonly #nested: NestedCalls;
  readonly #log: Log;
  readonly #hosts = new Map<string, KoHost>();
  readonly #closing = new Set<KoHost>();
  readonly #watch: NodeJS.Timeout;

  constructor(options: HostsOptions, nested: NestedCalls, log: Log) {
    this.#options = options;
    this.#nested = nested;
    this.#log = log;
    this.#watch = setInterval(() => this.#look(), watchMs);
  }

  /** @param state what tells apart two states of one version, such as its checksum. */
  host(ko: string, state: string): KoHost {
    const key = `${ko} ${state}`;
    const known = this.#hosts.get(key);
    if (known) return known;
    const host = new KoHost(ko, this.#options, this.#nested, {
      printed: (stream, line) => this.#log.ko(ko, stream, line),
      failed: (reason) => this.#log.warn('process ended', { object: ko, reason }),
    });
    this.#hosts.set(key, host);
    return host;
  }

  /** Lets go of all but these; what runs in the others comes to its end. */
  keepOnly(used: ReadonlySet<KoHost>): void {
    for (const [key, host] of this.#hosts) {
      if (used.has(host)) continue;
      this.#hosts.delete(key);
      this.#closing.add(host);
      void host.close().then(() => this.#closing.delete(host));
    }
  }

  get workerCount(): number {
    return this.#all().reduce((sum, host) => sum + host.workers.length, 0);
  }

  /** Ends every process at once. */
  kill(): void {
    clearInterval(this.#watch);
    for (const host of this.#all()) host.kill();
  }

  #all(): KoHost[] {
    return [...this.#hosts.values(), ...this.#closing];
  }

  #look(): void {
    const now = performance.now();
    for (const host of this.#all()) {
      host.checkMemory();
      host.checkBlocked(now);
    }
    const idle = this.#all()
      .flatMap((host) => (host.idleWorker ? [{ host, since: host.idleWorker.idleSince }] : []))
      .sort((one, other) => one.since - other.since);
    for (const [index, { host, since }] of idle.entries()) {
      const surplus = index < idle.length - this.#options.idleWorkers;
      if (surplus || now - since > this.#options.idleTimeoutMs) host.stopIdle();
    }
  }
}
