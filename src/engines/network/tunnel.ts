import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import type { HostPort } from '../../lib/host-port.ts';
import { connectTo } from './connect.ts';
import type { NetworkLimits } from './limits.ts';

export interface TunnelRequest {
  readonly client: Socket;
  /** What came behind the head of its request. */
  readonly head: Buffer;
  readonly target: HostPort;
  readonly addresses: readonly LookupAddress[];
  readonly limits: NetworkLimits;
}

/**
 * Bytes go both ways as fast as the slower side takes them. It ends when both sides have sent all, when one breaks off, and
 * after a time without a byte. @returns the other end. @throws Refusal before anything was answered.
 */
export async function openTunnel({ client, head, target, addresses, limits }: TunnelRequest): Promise<Socket> {
  const upstream = await connectTo(target, addresses, limits.connectMs);
  const end = (): void => {
    client.destroy();
    upstream.destroy();
  };
  client.setTimeout(0);
  for (const each of [client, upstream]) each.on('error', end).on('close', end);
  if (client.destroyed) {
    end();
    return upstream;
  }
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) upstream.write(head);
  // Each byte passes both, so that either of them knows of a rest.
  upstream.setTimeout(limits.idleMs, end);
  for (const each of [client, upstream]) each.once('end', () => upstream.setTimeout(limits.halfOpenMs));
  client.pipe(upstream).pipe(client);
  return upstream;
}
