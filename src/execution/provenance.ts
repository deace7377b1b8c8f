/** What an answer says of how it came about, so that it can be had again. */
import type { Endpoint } from '../activation/endpoint.ts';
import type { CallTrace } from '../engines/engine.ts';
import { packageDigestOf } from '../shelf/package/package-content.ts';

export interface ProvenanceOptions {
  /** Of this service. */
  readonly version: string;
  /** Its id in the fleet, where it is in one; it may change. */
  readonly node: () => string | undefined;
}

export interface ProvenCall {
  readonly endpoint: Endpoint;
  readonly trace: CallTrace;
  /** Who called, where that has a name. */
  readonly caller: { readonly who: string; readonly login: string } | undefined;
  readonly contentType: string;
  /** When it began. */
  readonly time: Date;
  readonly called: CalledEndpoints;
}

export class Provenance {
  readonly #options: ProvenanceOptions;

  constructor(options: ProvenanceOptions) {
    this.#options = options;
  }

  /** As JSON text. */
  of({ endpoint, trace, caller, contentType, time, called }: ProvenCall): string {
    const { version } = this.#options;
    const node = this.#options.node();
    const { name, release = `kgrid-activator ${version}` } = endpoint.engine ?? {
      name: endpoint.entry.engine,
    };
    return JSON.stringify({
      executionId: trace.executionId,
      ...placeOf(endpoint),
      ...(caller && { caller }),
      ...(contentType !== '' && { contentType }),
      engine: { name, version: release },
      activator: { version, ...(node !== undefined && { node }) },
      time: time.toISOString(),
      calls: called.all.map(placeOf),
      ...(called.left > 0 && { moreCalls: called.left }),
    });
  }
}

const placeOf = ({ id, ko }: Endpoint): Record<string, unknown> => ({
  endpoint: id,
  knowledgeObject: ko.key,
  digest: packageDigestOf(ko.entry),
  ...(ko.signers.length > 0 && { signers: ko.signers }),
});

// Which endpoints the code of a call asked for, with what they were at that time.

/** Code may ask for all that there is, and each is told in its answer. */
const MOST = 1000;

export class CalledEndpoints {
  readonly #endpoints = new Map<string, Endpoint>();
  #left = 0;

  add(endpoint: Endpoint): void {
    if (this.#endpoints.has(endpoint.id)) return;
    if (this.#endpoints.size < MOST) this.#endpoints.set(endpoint.id, endpoint);
    else this.#left++;
  }

  /** In the order in which they were asked for. */
  get all(): readonly Endpoint[] {
    return [...this.#endpoints.values()];
  }

  /** How often one more than can be told was asked for. */
  get left(): number {
    return this.#left;
  }
}
