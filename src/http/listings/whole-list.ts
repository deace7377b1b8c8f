/** The list of all endpoints, which is made anew only where something in it has changed. */
import type { Endpoint, EndpointStatus } from '../../activation/endpoint.ts';
import type { EndpointSet } from '../../activation/endpoint-set.ts';
import type { EndpointTexts } from './endpoint-texts.ts';

/** Addresses are the client's to choose: only so many are remembered. */
const MAX_ADDRESSES = 8;

interface Made {
  readonly set: EndpointSet;
  readonly bodies: Map<string, Buffer>;
  /** Those that may change, with what was said of them. */
  readonly open: readonly (readonly [endpoint: Endpoint, status: EndpointStatus, detail: string | undefined])[];
}

export class WholeList {
  readonly #texts: EndpointTexts;
  #made: Made | undefined;

  constructor(texts: EndpointTexts) {
    this.#texts = texts;
  }

  /** For clients that came by this address. */
  of(set: EndpointSet, address: string): Buffer {
    if (this.#made?.set !== set || !isAsItWas(this.#made)) this.#made = { set, bodies: new Map(), open: openIn(set) };
    const { bodies } = this.#made;
    const known = bodies.get(address);
    if (known !== undefined) return known;
    const body = Buffer.from(this.#texts.listOf(set.endpoints, address));
    if (bodies.size < MAX_ADDRESSES) bodies.set(address, body);
    return body;
  }
}

const openIn = ({ endpoints }: EndpointSet): Made['open'] =>
  endpoints.filter(({ mayChange }) => mayChange).map((each) => [each, each.status, each.detail]);

const isAsItWas = ({ open }: Made): boolean =>
  open.every(([{ status, detail }, before, saidBefore]) => status === before && detail === saidBefore);
