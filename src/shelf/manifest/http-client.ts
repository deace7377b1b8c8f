import { lookup as systemLookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Agent } from 'undici';
import { addressKind } from '../../lib/address-kind.ts';
import { importRefused, type ServiceError } from '../../lib/errors.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { untilStopped } from '../../lib/until-stopped.ts';
import { isHttp } from './parse-manifest.ts';

interface HttpClientOptions {
  /** Whether private and loopback addresses may be asked. */
  readonly privateAddresses: boolean;
  readonly redirects: number;
  /** Aborted once the service stops. */
  readonly stopped?: AbortSignal | undefined;
  /** For tests. */
  readonly lookup?: Lookup | undefined;
}

export interface OpenedLocation {
  /** Decoded; not bounded. */
  readonly content: Readable;
  /** Where it came from, after all redirects. */
  readonly url: URL;
}

/** Fetches from addresses that other people name. Every connection is checked, on each hop. */
export class HttpClient implements AsyncDisposable {
  readonly #options: HttpClientOptions;
  #agent: Promise<Agent> | undefined;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  /** @throws importRefused when the answer is not 2xx; what undici throws. The signal also ends the body. */
  async get(location: URL, accept: string, signal: AbortSignal): Promise<OpenedLocation> {
    const { redirects } = this.#options;
    const dispatcher = await (this.#agent ??= makeAgent(this.#options));
    let url = location;
    for (let hop = 0; hop <= redirects; hop++) {
      const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'kgrid-activator' };
      const answer = await dispatcher.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        signal,
        headers,
      });
      const { statusCode, body } = answer;
      // A body that nobody reads to its end fails when it is let go.
      body.on('error', () => undefined);
      if (statusCode >= 200 && statusCode < 300)
        return { content: decoded(body, answer.headers['content-encoding']), url };
      body.destroy();
      const next = answer.headers['location'];
      if (!REDIRECTS.has(statusCode) || typeof next !== 'string')
        throw importRefused(`answered with the status ${statusCode}`);
      url = redirectTarget(next, url);
    }
    throw importRefused(`redirects more than ${redirects} times`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#agent)?.destroy();
  }
}

/** The library is loaded for the first address: most services never ask one. */
async function makeAgent({ privateAddresses, lookup, stopped }: HttpClientOptions): Promise<Agent> {
  const undici = await import('undici');
  const connector = undici.buildConnector({ lookup: checkedLookup(privateAddresses, lookup), timeout: 10_000 });
  const connect = stopped === undefined ? connector : untilStopped(connector, stopped);
  return new undici.Agent({
    connect: (options, callback) => {
      // No resolver is asked for an address, so that the check of the lookup does not see it.
      const problem = isIP(options.hostname) === 0 ? undefined : addressProblem(options.hostname, privateAddresses);
      if (problem === undefined) connect(options, callback);
      else callback(problem, null);
    },
  });
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function redirectTarget(location: string, from: URL): URL {
  const target = URL.parse(location, from.href);
  if (target === null || !isHttp(target))
    throw importRefused(`redirects to ${escapeForMessage(location)}, which is no http or https URL`);
  return target;
}

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** Some servers encode although `identity` was asked for. */
function decoded(body: Readable, encoding: string | string[] | undefined): Readable {
  const name = encoding === undefined ? '' : String(encoding).trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  const decoder = DECODERS.get(name);
  if (decoder === undefined) {
    body.destroy();
    throw importRefused(`answered with the encoding ${escapeForMessage(name)}, which was not asked for`);
  }
  return pipeline(body, decoder(), () => undefined);
}

/** Why an address may not be asked; undefined when it may. */
function addressProblem(address: string, privateIsAllowed: boolean): ServiceError | undefined {
  const kind = addressKind(address);
  if (kind === 'never')
    return importRefused('is at an address that is never asked (link-local, multicast or reserved)');
  if (kind === 'public' || privateIsAllowed) return undefined;
  return importRefused('is at a private or loopback address: allow these with --allow-private-manifests');
}

/** The signature of `dns.lookup` with `all`. */
export type Lookup = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Resolves a name to those of its addresses that may be asked. It is used for the connection itself, so that no
 * second answer of the name's server can lead elsewhere than what was checked.
 */
export const checkedLookup =
  (privateIsAllowed: boolean, lookup: Lookup = systemLookup): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const [problem] = addresses
        .map(({ address }) => addressProblem(address, privateIsAllowed))
        .filter((p) => p !== undefined);
      const allowed = addresses.filter(({ address }) => addressProblem(address, privateIsAllowed) === undefined);
      const [first] = allowed;
      if (first === undefined) return callback(problem ?? importRefused('has no address'), []);
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
