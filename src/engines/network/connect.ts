/** Connects to addresses that were checked, and to nothing else. */
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import { formatHostPort } from '../../lib/host-port.ts';
import type { HostPort } from '../../lib/host-port.ts';
import { Refusal } from './refusal.ts';

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
