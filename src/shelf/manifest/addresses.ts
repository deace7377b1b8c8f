import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress, LookupAllOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { IPv4, IPv6 } from 'ipaddr.js';
import { importRefused } from '../../lib/errors.ts';
import type { ServiceError } from '../../lib/errors.ts';

/** `never`: link-local and other addresses that no package comes from. `private`: this machine and its networks. */
export type AddressKind = 'public' | 'private' | 'never';

type Range = ReturnType<typeof ipaddr.parseCIDR>;

const ranges = (...texts: readonly string[]): Range[] => texts.map((text) => ipaddr.parseCIDR(text));

/** The first that has an address counts; Teredo hides the addresses of a server and of a client. */
const KINDS: Readonly<Record<Exclude<AddressKind, 'public'>, Range[]>> = {
  private: ranges(
    ...['0.0.0.0/32', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.0.0.0/24'],
    ...['192.168.0.0/16', '198.18.0.0/15', '::/128', '::1/128', 'fc00::/7', 'fec0::/10', '64:ff9b:1::/48'],
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

/** Why an address may not be asked; undefined when it may. */
export function addressProblem(address: string, privateIsAllowed: boolean): ServiceError | undefined {
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
