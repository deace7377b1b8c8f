/** Reads what `--trust-proxy` says: whose `X-Forwarded-*` headers are believed. */
import ipaddr from 'ipaddr.js';
import { refuse } from './setting.ts';

export interface ProxyTrust {
  /** The nearest so many; without networks. */
  readonly hops: number;
  /** Those with these addresses, as CIDR. */
  readonly networks: readonly string[];
  /** The option stands alone or is a flag, as before it had values. */
  readonly isFlag: boolean;
}

const MOST_HOPS = 16;

/** Undefined for nobody. @throws startRefused. */
export function toProxyTrust(value: string, source: string): ProxyTrust | undefined {
  const text = value.trim();
  if (/^(false|0|no|off)$/i.test(text)) return undefined;
  // One hop: what the nearest proxy says. What those before it say, a client could have said.
  if (/^(true|yes|on)$/i.test(text)) return { hops: 1, networks: [], isFlag: true };
  if (/^\d+$/.test(text) && Number(text) <= MOST_HOPS) return { hops: Number(text), networks: [], isFlag: false };
  const networks = text.split(',').map((each) => networkOf(each.trim()));
  const known = networks.filter((each) => each !== undefined);
  if (known.length === networks.length) return { hops: 0, networks: known, isFlag: false };
  throw refuse(
    source,
    value,
    `how many proxies stand in front, such as 1, up to ${MOST_HOPS}; or their addresses or networks, such as 10.0.0.0/8,192.0.2.7`,
  );
}

function networkOf(text: string): string | undefined {
  const [address = '', prefix] = text.split('/', 2);
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !(address.includes(':') && ipaddr.IPv6.isValid(address)))
    return undefined;
  const bits = ipaddr.parse(address).kind() === 'ipv4' ? 32 : 128;
  const cidr = `${address}/${prefix ?? bits}`;
  return ipaddr.isValidCIDR(cidr) && text === (prefix === undefined ? address : cidr) ? cidr : undefined;
}
