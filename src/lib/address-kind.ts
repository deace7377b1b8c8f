import ipaddr from 'ipaddr.js';
import type { IPv4, IPv6 } from 'ipaddr.js';

/**
 * `own`: this machine alone, whichever it is. `private`: its networks. `never`: link-local and other addresses that
 * nothing of use has.
 */
export type AddressKind = 'public' | 'private' | 'own' | 'never';

type Range = ReturnType<typeof ipaddr.parseCIDR>;

const ranges = (...texts: readonly string[]): Range[] => texts.map((text) => ipaddr.parseCIDR(text));

/** The first that has an address counts; Teredo hides the addresses of a server and of a client. */
const KINDS: Readonly<Record<Exclude<AddressKind, 'public'>, Range[]>> = {
  own: ranges('0.0.0.0/32', '127.0.0.0/8', '::/128', '::1/128'),
  private: ranges(
    '10.0.0.0/8',
    '100.64.0.0/10',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    'fc00::/7',
    'fec0::/10',
    '64:ff9b:1::/48',
  ),
  never: ranges('169.254.0.0/16', '0.0.0.0/8', '224.0.0.0/3', 'fe80::/10', 'ff00::/8', '2001::/32'),
};

/** Ranges of IPv6 whose addresses hold one of IPv4, and the byte at which that begins. */
const EMBEDDING: readonly (readonly [Range, at: number])[] = [
  [ipaddr.parseCIDR('::ffff:0:0/96'), 12],
  [ipaddr.parseCIDR('::ffff:0:0:0/96'), 12],
  [ipaddr.parseCIDR('::/96'), 12],
  [ipaddr.parseCIDR('64:ff9b::/96'), 12],
  [ipaddr.parseCIDR('2002::/16'), 2],
];

/** @param address an IP address, as a resolver or a URL gives it. */
export const addressKind = (address: string): AddressKind => kindOf(ipaddr.parse(address));

function kindOf(address: IPv4 | IPv6): AddressKind {
  const kind = ipaddr.subnetMatch(address, { ...KINDS }, 'public') as AddressKind;
  if (kind !== 'public' || address.kind() === 'ipv4') return kind;
  const [, at] = EMBEDDING.find(([range]) => address.match(range)) ?? [];
  return at === undefined ? 'public' : kindOf(new ipaddr.IPv4(address.toByteArray().slice(at, at + 4)));
}
