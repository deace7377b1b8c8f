/** Reads what `--allow-network` says: `naan/name`, `naan/name=host`, `naan/name=host:port` or `naan/name=*:port`. */
import type { NetworkPermission, NetworkPermissions } from '../engines/network/permission.ts';
import { isSameHostPort, parseHostPort, STANDARD_PORT } from '../lib/host-port.ts';
import type { HostPort } from '../lib/host-port.ts';
import { startRefused } from '../lib/errors.ts';
import { refuse, toKoName } from './values.ts';

const NONE: NetworkPermission = { any: false, hosts: [], ports: [] };

/** Several for one knowledge object count together. @param ownPort of the service. @throws startRefused. */
export function toNetworkPermissions(values: readonly string[], source: string, ownPort: number): NetworkPermissions {
  const permissions = new Map<string, NetworkPermission>();
  for (const value of values.flatMap((each) => each.split(',')).map((each) => each.trim())) {
    const at = value.indexOf('=');
    const name = nameOf(at < 0 ? value : value.slice(0, at), value, source);
    const before = permissions.get(name) ?? NONE;
    const permission = at < 0 ? { ...before, any: true } : withHost(before, value.slice(at + 1), value, source);
    if (permission.ports.includes(ownPort))
      throw startRefused(`${source} is '${value}', but that is the port of this service: give one of them another`);
    permissions.set(name, permission);
  }
  return permissions;
}

function nameOf(name: string, value: string, source: string): string {
  try {
    return toKoName(name, source);
  } catch {
    throw refuse(source, value, 'naan/name, naan/name=host or naan/name=host:port');
  }
}

function withHost(before: NetworkPermission, written: string, value: string, source: string): NetworkPermission {
  const anyHost = /^\*:(\d{1,5})$/.exec(written)?.[1];
  if (anyHost !== undefined) {
    const target = parseHostPort(`any:${anyHost}`);
    if (target === undefined) throw refuse(source, value, 'a port from 1 to 65535 behind *:');
    return { ...before, ports: [...new Set([...before.ports, target.port])] };
  }
  const target = parseHostPort(written, STANDARD_PORT);
  if (target === undefined) throw refuse(source, value, allowedFor(written));
  return { ...before, hosts: withoutTwins([...before.hosts, target]) };
}

const withoutTwins = (hosts: readonly HostPort[]): HostPort[] =>
  hosts.filter((each, index) => hosts.findIndex((other) => isSameHostPort(each, other)) === index);

/** What to write instead of a host that is none. */
function allowedFor(written: string): string {
  if (/^[a-z][a-z\d+.-]{0,20}:\/\//i.test(written)) return 'a host and a port, without a scheme and a path';
  if (/^\*?$/.test(written)) return 'naan/name alone for any public host, or naan/name=*:port for a port of every host';
  if (written.includes('*')) return 'a whole host: name each one that it may reach, in an option of its own';
  if (written.includes('/')) return 'one host: ranges of addresses and paths cannot be allowed';
  if (written.split(':').length > 2)
    return 'a host and a port, an IPv6 address in brackets and without a zone: [2001:db8::1]:443';
  if (/:\d*$/.test(written)) return 'a host with a port from 1 to 65535';
  return 'a host such as api.example.org or api.example.org:443';
}
