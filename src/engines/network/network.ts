/** What the code of knowledge objects may reach over the network, and by which way. */
import type { KoId } from '../../knowledge-object/id.ts';
import { koKey, nameKey } from '../../knowledge-object/id.ts';
import type { HostPort } from '../../lib/host-port.ts';
import type { Logger } from '../../lib/log.ts';
import { explainFailure } from './explain.ts';
import { KoProxy } from './ko-proxy.ts';
import { NETWORK_LIMITS } from './limits.ts';
import type { NetworkLimits } from './limits.ts';
import type { NetworkPermissions } from './permission.ts';
import type { Refusal } from './refusal.ts';
import { Resolver } from './resolve.ts';
import type { Lookup } from './resolve.ts';

export interface NetworkOptions {
  readonly permissions: NetworkPermissions;
  /** Of the service: where certificates lie is told to workers. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Pick<Logger, 'warn'>;
  readonly limits?: NetworkLimits;
  readonly lookup?: Lookup;
}

/** The network of one knowledge object, for as long as its workers live. */
export interface NetworkAccess extends AsyncDisposable {
  /** What its workers may connect to by TCP. */
  readonly ports: readonly number[];
  /** What its workers get beside their own environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Files that this names. */
  readonly files: readonly string[];
  /** What failed, with what the operator could do where it failed for want of the network. */
  explain(description: string): string;
}

/** Variables that name certificates of authorities, which the operator trusts beside those of Node and Python. */
const CERTIFICATES = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE'] as const;
/** Where names are resolved over TCP. */
const DNS_PORT = 53;
/** Of one knowledge object, that are told in the log. */
const MOST_TOLD = 20;

export class Network {
  readonly #options: NetworkOptions;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** Listens for those only that have the permission. @param wanted what the descriptors of the KO ask for. */
  async open(ko: KoId, wanted: readonly HostPort[]): Promise<NetworkAccess> {
    const { permissions, limits = NETWORK_LIMITS, lookup, log } = this.#options;
    const name = nameKey(ko);
    const permission = permissions.get(name);
    if (permission === undefined) return withoutNetwork(name, wanted);
    const told = new Set<string>();
    let last: Refusal | undefined;
    const proxy = await KoProxy.open({
      resolver: new Resolver({ name, permission, wanted, lookup, timeoutMs: limits.connectMs }),
      limits,
      onRefusal: (refusal) => {
        last = refusal;
        if (told.has(refusal.message) || told.size === MOST_TOLD) return;
        told.add(refusal.message);
        log.warn({ event: 'connection-refused', ko: koKey(ko) }, refusal.message);
      },
    });
    const certificates = this.#certificates();
    return {
      ports: [proxy.port, ...permission.ports, ...(permission.ports.length === 0 ? [] : [DNS_PORT])],
      environment: {
        ...environmentOf(proxy.url),
        ...(permission.ports.length === 0 ? {} : { RES_OPTIONS: 'use-vc' }),
        ...certificates,
      },
      files: Object.values(certificates),
      explain: (description) => explainFailure(description, { name, wanted, permission, last }),
      [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
    };
  }

  #certificates(): Record<string, string> {
    const { environment } = this.#options;
    const named = CERTIFICATES.map((name) => [name, environment[name]] as const);
    return Object.fromEntries(
      named.filter((each): each is readonly [(typeof CERTIFICATES)[number], string] => Boolean(each[1])),
    );
  }
}

const withoutNetwork = (name: string, wanted: readonly HostPort[]): NetworkAccess => ({
  ports: [],
  environment: {},
  files: [],
  explain: (description) => explainFailure(description, { name, wanted }),
  [Symbol.asyncDispose]: () => Promise.resolve(),
});

/** In both spellings: libraries differ in which they read. */
const environmentOf = (url: string): Record<string, string> => ({
  HTTP_PROXY: url,
  HTTPS_PROXY: url,
  http_proxy: url,
  https_proxy: url,
  NO_PROXY: '',
  no_proxy: '',
  NODE_USE_ENV_PROXY: '1',
});
