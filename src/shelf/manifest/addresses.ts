import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress, LookupAllOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { addressKind } from '../../lib/address-kind.ts';
import { importRefused } from '../../lib/errors.ts';
import type { ServiceError } from '../../lib/errors.ts';

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
