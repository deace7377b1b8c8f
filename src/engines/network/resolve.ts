/** From what the code of a knowledge object asks for to the addresses that may be connected to. */
import { lookup as systemLookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { once } from 'node:events';
import { connect, type LookupFunction, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { addressKind } from '../../lib/address-kind.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import { formatHostPort, type HostPort } from '../../lib/host-port.ts';
import { names, optionFor, permits, type NetworkPermission, Refusal } from './permission.ts';

/** The signature of `dns.lookup` with `all`. */
export type Lookup = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface ResolverOptions {
  /** `<naan>/<name>` of the knowledge object. */
  readonly name: string;
  readonly permission: NetworkPermission;
  /** What its descriptors ask for, for the words of refusals. */
  readonly wanted: () => readonly HostPort[];
  readonly lookup?: Lookup | undefined;
  /** Milliseconds. */
  readonly timeoutMs: number;
}

export class Resolver {
  readonly #options: ResolverOptions;
  /** Node resolves two names at a time, for the whole service. */
  readonly #places = new FairQueue({ limit: 1 });

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  /** A name that is not allowed is not even asked for: what is asked tells something too. @throws Refusal. */
  async resolve(target: HostPort): Promise<readonly LookupAddress[]> {
    const { name, permission } = this.#options;
    if (!permits(permission, target)) throw this.#refused(`may not connect to ${formatHostPort(target)}`, target);
    const isNamed = names(permission, target);
    if (ipaddr.isValid(target.host)) {
      // A permission that names an address permits it, public or not.
      if (!isNamed && !isElsewhere(target.host))
        throw this.#refused(`may not connect to ${formatHostPort(target)}, ${NOT_PUBLIC}`, target);
      return [{ address: target.host, family: ipaddr.parse(target.host).kind() === 'ipv6' ? 6 : 4 }];
    }
    const found = await this.#lookup(target);
    const allowed = found.filter(({ address }) => mayBe(address, target.host, isNamed));
    if (allowed.length > 0) return allowed;
    if (isNamed)
      throw new Refusal(
        403,
        `${name} may not connect to ${formatHostPort(target)}, whose name leads to this machine or to an address that ` +
          `nothing of use has; the operator allows that by naming the address in place of the name`,
      );
    throw this.#refused(`may not connect to ${formatHostPort(target)}, ${NOT_PUBLIC}`, target);
  }

  #refused(what: string, target: HostPort): Refusal {
    const { name } = this.#options;
    const wanted = this.#options.wanted();
    const asks = wanted.length === 0 ? '' : ` (it asks for ${wanted.map(formatHostPort).join(', ')})`;
    return new Refusal(403, `${name} ${what}${asks}; the operator allows it by ${optionFor(name, target)}`);
  }

  async #lookup(target: HostPort): Promise<readonly LookupAddress[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly LookupAddress[]>();
    const fail = (status: number, why: string): void =>
      reject(new Refusal(status, `the name of ${formatHostPort(target)} ${why}`));
    const late = setTimeout(() => fail(504, 'was not resolved in time'), this.#options.timeoutMs);
    void this.#places.run('', async () => {
      try {
        const addresses = await this.#ask(target.host);
        if (addresses.length === 0) fail(502, 'has no address');
        else resolve(addresses);
      } catch (thrown) {
        fail(502, `cannot be resolved (${codeOf(thrown)})`);
      }
    });
    return promise.finally(() => clearTimeout(late));
  }

  #ask(host: string): Promise<readonly LookupAddress[]> {
    const { lookup = systemLookup } = this.#options;
    return new Promise((resolve, reject) =>
      lookup(host, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error))),
    );
  }
}

const NOT_PUBLIC = 'which is this machine, one of its networks or no address of use';

/** A name that the operator gave may lead into his own networks, but to this machine only where it says so. */
function mayBe(address: string, name: string, isNamed: boolean): boolean {
  if (isElsewhere(address)) return true;
  if (!isNamed) return false;
  const kind = addressKind(address);
  return kind === 'own' ? name === 'localhost' : kind === 'private' && !isOfThisMachine(address);
}

const isElsewhere = (address: string): boolean => addressKind(address) === 'public' && !isOfThisMachine(address);

/** Asked anew each time: addresses come and go. */
const isOfThisMachine = (address: string): boolean =>
  Object.values(networkInterfaces()).some((each) => each?.some((own) => isSame(own.address, address)) === true);

const isSame = (one: string, other: string): boolean => plain(one) === plain(other);
const plain = (address: string): string => ipaddr.process(address.split('%', 1)[0] ?? '').toString();

/**
 * Tries them in turn, as browsers do. The name is not resolved again: a second answer of its server might lead elsewhere.
 * @throws Refusal.
 */
export async function connectTo(
  target: HostPort,
  addresses: readonly LookupAddress[],
  timeoutMs: number,
): Promise<Socket> {
  const socket = connect({
    host: target.host,
    port: target.port,
    lookup: only(addresses),
    autoSelectFamily: true,
    allowHalfOpen: true,
    noDelay: true,
  });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) });
    return socket;
  } catch (thrown) {
    // What comes later concerns nobody.
    socket.on('error', () => undefined).destroy();
    const isLate = thrown instanceof Error && thrown.name === 'AbortError';
    throw isLate
      ? new Refusal(504, `${formatHostPort(target)} did not take the connection in time`)
      : new Refusal(502, `${formatHostPort(target)} cannot be reached (${codeOf(thrown)})`);
  }
}

/** In place of a resolver. */
const only =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else if (first !== undefined) callback(null, first.address, first.family);
  };

/** Gives the code of a system error, such as ECONNREFUSED. */
export function codeOf(thrown: unknown): string {
  const { code } = thrown as { code?: unknown };
  return typeof code === 'string' ? code : 'unknown error';
}
