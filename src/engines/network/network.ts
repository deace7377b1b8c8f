/** What the code of knowledge objects may reach over the network, and by which way. */
import { messageOf } from '../../lib/errors.ts';
import { parseHostPort } from '../../lib/host-port.ts';
import type { HostPort } from '../../lib/host-port.ts';
import type { Logger } from '../../lib/log.ts';
import { NO_NETWORK, type NetworkAccess } from './access.ts';
import {
  NETWORK_LIMITS,
  type NetworkLimits,
  type NetworkPermission,
  type NetworkPermissions,
  type Refusal,
  wantedHosts,
  type AsksForNetwork,
} from './permission.ts';
import { explainFailure } from './explain.ts';
import { KoProxy } from './ko-proxy.ts';
import { Resolver } from './resolve.ts';
import type { Lookup } from './resolve.ts';

export interface NetworkOptions {
  readonly permissions: NetworkPermissions;
  /** The environment of the service; workers are told where certificates lie. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether the kernel refuses what is not allowed; else a failure has other reasons. */
  readonly isWalled: () => boolean;
  readonly log: Pick<Logger, 'warn'>;
  readonly limits?: NetworkLimits;
  readonly lookup?: Lookup;
}

/** Variables that name certificates of authorities, which the operator trusts beside those of Node and Python. */
const CERTIFICATES = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE'] as const;
/** Where names are resolved over TCP. */
const DNS_PORT = 53;
/** Most connections of a knowledge object that the log names. */
const MOST_TOLD = 20;

const NOTHING: NetworkPermission = { any: false, hosts: [], ports: [] };

export class Network {
  readonly #options: NetworkOptions;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /**
   * Listens for those only that have the permission.
   * @param ko `<naan>/<name>/<version>`.
   * @param asking what of it asks for hosts, at that time.
   */
  async open(ko: string, asking: () => Iterable<AsksForNetwork>): Promise<NetworkAccess> {
    const wanted = (): readonly HostPort[] => wantedHosts(asking());
    const { permissions, limits = NETWORK_LIMITS, lookup, log, isWalled } = this.#options;
    const name = ko.slice(0, ko.lastIndexOf('/'));
    const permission = permissions.get(name);
    if (permission === undefined)
      return {
        ...NO_NETWORK,
        explain: (said) => (isWalled() ? explainFailure(said, { name, wanted: wanted() }) : said),
      };
    const told = new Set<string>();
    let last: Refusal | undefined;
    const proxy = await KoProxy.open({
      resolver: new Resolver({ name, permission, wanted, lookup, timeoutMs: limits.connectMs }),
      limits,
      onRefusal: (refusal) => {
        last = refusal;
        if (told.has(refusal.message) || told.size === MOST_TOLD) return;
        told.add(refusal.message);
        log.warn({ event: 'connection-refused', ko }, refusal.message);
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
      explain: (said) => explainFailure(said, { name, wanted: wanted(), permission, last, isWalled: isWalled() }),
      [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
    };
  }

  /** @param ko `<naan>/<name>/<version>`. */
  permissionOf(ko: string): NetworkPermission {
    return this.#options.permissions.get(ko.slice(0, ko.lastIndexOf('/'))) ?? NOTHING;
  }

  /**
   * Why nothing may be fetched from a host for a knowledge object; undefined where it may.
   * @param ko `<naan>/<name>/<version>`. @param host `host:port`.
   */
  async refusal(ko: string, host: string): Promise<string | undefined> {
    const { limits = NETWORK_LIMITS, lookup } = this.#options;
    const name = ko.slice(0, ko.lastIndexOf('/'));
    const target = parseHostPort(host);
    if (target === undefined) return `${host} is no host`;
    const permission = this.permissionOf(ko);
    const resolver = new Resolver({ name, permission, wanted: () => [], lookup, timeoutMs: limits.connectMs });
    return resolver.resolve(target).then(
      () => undefined,
      (thrown: unknown) => messageOf(thrown),
    );
  }

  #certificates(): Record<string, string> {
    const { environment } = this.#options;
    const named = CERTIFICATES.map((name) => [name, environment[name]] as const);
    return Object.fromEntries(
      named.filter((each): each is readonly [(typeof CERTIFICATES)[number], string] => Boolean(each[1])),
    );
  }
}

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
