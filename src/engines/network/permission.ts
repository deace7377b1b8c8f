/** Which hosts the code of a knowledge object may reach, as the operator said it. */
import { formatHostPort, isSameHostPort } from '../../lib/host-port.ts';
import type { HostPort } from '../../lib/host-port.ts';

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
