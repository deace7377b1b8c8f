/** How the service is, in one line for all who look at it: nothing here looks through the shelf while nothing changes. */
import { randomBytes } from 'node:crypto';
import type { Activator } from '../../activation/activator.ts';
import type { EndpointSet } from '../../activation/endpoint-set.ts';
import type { EngineRegistry } from '../../engines/engine-registry.ts';
import type { Lifecycle } from '../../lifecycle.ts';
import type { History } from '../../metrics/history.ts';
import type { Shelf } from '../../shelf/shelf.ts';
import type { ServiceEvent } from './listeners.ts';

export interface ServiceStateOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly engines: EngineRegistry;
  readonly lifecycle: Lifecycle;
  readonly history: Pick<History, 'present'>;
  /** Activations so far: with each the status of an endpoint changed. */
  readonly activations: () => number;
}

interface Counted {
  readonly set: EndpointSet;
  readonly activations: number;
  readonly revision: number;
  readonly damage: number;
  readonly catalogue: string;
  readonly endpoints: { readonly activated: number; readonly failed: number; readonly loading: number };
  readonly kos: number;
}

/** `UP`, `DEGRADED` where something does not work that should, `STARTING`, or `DOWN` when it stops. */
type Status = 'UP' | 'DEGRADED' | 'STARTING' | 'DOWN';

export class ServiceState {
  readonly #options: ServiceStateOptions;
  /** Two starts share no token. */
  readonly #start = randomBytes(6).toString('base64url');
  #changes = 0;
  #counted: Counted | undefined;

  constructor(options: ServiceStateOptions) {
    this.#options = options;
  }

  /** The same text as long as neither the shelf nor what is active changed, at the cost of a look at four figures. */
  async catalogue(): Promise<string> {
    return (await this.#count()).catalogue;
  }

  /** The same text as long as nothing changed but figures. */
  async token(): Promise<string> {
    const { catalogue } = await this.#count();
    return `${catalogue} ${this.#status}`;
  }

  async read(): Promise<ServiceEvent> {
    const { catalogue, endpoints, kos } = await this.#count();
    const { perSecond, failedPerSecond, p95 } = this.#options.history.present;
    const time = new Date().toISOString();
    return { type: 'state', time, status: this.#status, catalogue, perSecond, failedPerSecond, p95, endpoints, kos };
  }

  get #status(): Status {
    const { lifecycle, shelf, engines, activator } = this.#options;
    if (lifecycle.leaving) return 'DOWN';
    if (!lifecycle.started) return 'STARTING';
    const isWell =
      shelf.condition().problem === undefined &&
      [...engines.values()].every(
        (engine) => engine.health().status === 'UP' || activator.set.ofEngine(engine.name).length === 0,
      );
    return isWell ? 'UP' : 'DEGRADED';
  }

  async #count(): Promise<Counted> {
    const { activator, shelf, activations } = this.#options;
    const present = {
      set: activator.set,
      activations: activations(),
      revision: await shelf.revision(),
      damage: shelf.damage().length,
    };
    const known = this.#counted;
    if (known !== undefined && isSame(known, present)) return known;
    const endpoints = { activated: 0, failed: 0, loading: 0 };
    for (const { status } of present.set.endpoints) endpoints[WORDS[status]]++;
    const kos = known?.revision === present.revision ? known.kos : (await shelf.list()).length;
    return (this.#counted = { ...present, endpoints, kos, catalogue: `${this.#start}-${++this.#changes}` });
  }
}

type Present = Pick<Counted, 'set' | 'activations' | 'revision' | 'damage'>;

const isSame = (a: Present, b: Present): boolean =>
  a.set === b.set && a.activations === b.activations && a.revision === b.revision && a.damage === b.damage;

const WORDS = { LOADED: 'loading', ACTIVATED: 'activated', FAILED_TO_ACTIVATE: 'failed' } as const;
