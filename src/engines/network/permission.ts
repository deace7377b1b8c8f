/** Which hosts the code of a knowledge object may reach, as the operator said it. */
import { formatHostPort, isSameHostPort, type HostPort } from '../../lib/host-port.ts';

export interface NetworkPermission {
  /** Any host that has a public address. */
  readonly any: boolean;
  /** These, wherever they are. */
  readonly hosts: readonly HostPort[];
  /** Ports that are open on every host, past the proxy, for what cannot use one. */
  readonly ports: readonly number[];
}

/** By `<naan>/<name>`. */
export type NetworkPermissions = ReadonlyMap<string, NetworkPermission>;

export const names = ({ hosts }: NetworkPermission, target: HostPort): boolean =>
  hosts.some((each) => isSameHostPort(each, target));

/** Whether the operator lets it through, whatever its address turns out to be. */
export const permits = (permission: NetworkPermission, target: HostPort): boolean =>
  permission.any || permission.ports.includes(target.port) || names(permission, target);

/** The option that allows a knowledge object one host. @param name `<naan>/<name>`. */
export const optionFor = (name: string, target: HostPort): string =>
  `--allow-network ${name}=${formatHostPort(target)}`;

/** What may ask for hosts by `network:` in its deployment descriptor. */
export interface AsksForNetwork {
  readonly network?: readonly HostPort[] | undefined;
}

/** Each once. */
export const wantedHosts = (entries: Iterable<AsksForNetwork>): HostPort[] => {
  const hosts = [...entries].flatMap(({ network }) => network ?? []);
  return [...new Map(hosts.map((each) => [formatHostPort(each), each])).values()];
};

/** Empty where it asks for nothing. @param name `<naan>/<name>`. */
export function networkNote(name: string, wanted: readonly HostPort[], permission?: NetworkPermission): string {
  if (wanted.length === 0) return '';
  const asks = `asks for ${wanted.map(formatHostPort).join(', ')}`;
  const refused = wanted.filter((each) => permission === undefined || !permits(permission, each));
  if (refused.length === 0) return `${asks}, which is allowed`;
  return `${asks}, which is refused without ${refused.map((each) => optionFor(name, each)).join(' ')}`;
}

/** Why a connection is not made, in one sentence for the author of the knowledge object and the operator. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** Status of the answer. */
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** What one knowledge object may take of the network at a time. */
export interface NetworkLimits {
  /** Most bytes of the head of a request. */
  readonly headerBytes: number;
  /** Milliseconds in which that must have come. */
  readonly headersMs: number;
  readonly connections: number;
  /** Milliseconds for a name to be resolved, and again for the connection to be made. */
  readonly connectMs: number;
  /** Milliseconds without a byte in either direction. */
  readonly idleMs: number;
  /** Milliseconds without data after one side has sent all. */
  readonly halfOpenMs: number;
}

export const NETWORK_LIMITS: NetworkLimits = {
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  connections: 64,
  connectMs: 10_000,
  idleMs: 300_000,
  halfOpenMs: 30_000,
};
