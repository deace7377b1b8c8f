import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { importRefused } from '../../lib/errors.ts';
import type { ServiceError } from '../../lib/errors.ts';

/** `never`: link-local and other addresses that no package comes from. `private`: this machine and its networks. */
export type AddressKind = 'public' | 'private' | 'never';

type Range = readonly [address: string, prefix: number];

const NEVER: readonly Range[] = [
  ['169.254.0.0', 16],
  ['0.0.0.0', 8],
  ['224.0.0.0', 3],
  ['fe80::', 10],
  ['ff00::', 8],
];

const PRIVATE: readonly Range[] = [
  ['0.0.0.0', 32],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['::', 128],
  ['::1', 128],
  ['fc00::', 7],
  ['fec0::', 10],
  ['64:ff9b:1::', 48],
];

/** Ranges of IPv6 whose addresses hold one of IPv4, and the group at which that begins. */
const EMBEDDING: readonly (readonly [...Range, group: number])[] = [
  ['::ffff:0:0', 96, 6],
  ['::ffff:0:0:0', 96, 6],
  ['::', 96, 6],
  ['64:ff9b::', 96, 6],
  ['2002::', 16, 1],
];

/** @param address an IP address, as a resolver or a URL gives it. */
export function addressKind(address: string): AddressKind {
  const plain = address.replace(/%.*$/, '');
  if (isIn(PRIVATE, plain)) return 'private';
  if (isIn(NEVER, plain)) return 'never';
  if (isIP(plain) !== 6) return 'public';
  // Teredo hides the address of a server and of a client: nothing that a package comes from.
  if (isIn([['2001::', 32]], plain)) return 'never';
  const [, , group] = EMBEDDING.find(([range, prefix]) => isIn([[range, prefix]], plain)) ?? [];
  return group === undefined ? 'public' : addressKind(embedded(plain, group));
}

function isIn(ranges: readonly Range[], address: string): boolean {
  const list = new BlockList();
  for (const [range, prefix] of ranges) list.addSubnet(range, prefix, familyOf(range));
  return list.check(address, familyOf(address));
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

function embedded(address: string, group: number): string {
  // The URL parser writes every IPv6 address as hexadecimal groups with at most one `::`.
  const [left = '', right = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [head, tail] = [left, right].map((side) => (side === '' ? [] : side.split(':')));
  const groups = [
    ...(head ?? []),
    ...Array<string>(8 - (head?.length ?? 0) - (tail?.length ?? 0)).fill('0'),
    ...(tail ?? []),
  ];
  const bytes = groups.slice(group, group + 2).flatMap((hex) => [parseInt(hex, 16) >> 8, parseInt(hex, 16) & 0xff]);
  return bytes.join('.');
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
