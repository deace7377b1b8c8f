/** Reads from the FHIR servers that the operator named, with the token that came with the request and for it alone. */
import type { Agent } from 'undici';
import { startRefused } from '../../lib/errors.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import { isLoopback } from '../../lib/host-port.ts';

const MOST_BYTES = 5 * 2 ** 20;
const MOST_AT_ONCE = 32;
const MOST_OF_A_SERVER = 8;

export class FhirReader implements AsyncDisposable {
  readonly #servers: ReadonlySet<string>;
  readonly #queue = new FairQueue({ limit: MOST_AT_ONCE, perKey: MOST_OF_A_SERVER });
  #agent: Promise<Agent> | undefined;

  /** @throws startRefused for an address that is not https, loopback excepted. */
  constructor(servers: readonly string[]) {
    this.#servers = new Set(servers.map(baseOf));
  }

  mayRead(server: string): boolean {
    return this.#servers.has(withoutSlash(server));
  }

  /** A resource; undefined where it cannot be had in time. Follows no redirect. Never rejects. */
  async read(server: string, query: string, token: string | undefined, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.#queue.run(server, () => this.#get(`${server}/${query}`, token, signal));
    } catch {
      return undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#agent)?.destroy();
  }

  async #get(url: string, token: string | undefined, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const dispatcher = await (this.#agent ??= import('undici').then(
      ({ Agent: Made }) => new Made({ maxResponseSize: MOST_BYTES }),
    ));
    const { origin, pathname, search } = new URL(url);
    const headers = {
      accept: 'application/fhir+json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    const { statusCode, body } = await dispatcher.request({
      origin,
      path: pathname + search,
      method: 'GET',
      headers,
      signal,
    });
    if (statusCode === 200) return await body.json();
    await body.dump();
    return undefined;
  }
}

const withoutSlash = (text: string): string => text.replace(/\/$/, '');

/** "Over TLS": a token that travels in the clear could be anybody's, except within one machine. */
function baseOf(address: string): string {
  const url = URL.parse(address);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (!isSafe || url.search !== '' || url.hash !== '' || url.username !== '')
    throw startRefused(
      `--cds-fetch (KGRID_CDS_FETCH) must be the https base address of a FHIR server, or http on loopback: ${address}`,
    );
  return withoutSlash(address);
}
