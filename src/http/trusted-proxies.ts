/** Leaves of the `X-Forwarded-*` headers of a request only what proxies that are trusted say. */
import ipaddr from 'ipaddr.js';
import type { IncomingMessage } from 'node:http';
import type { ProxyTrust } from '../config/proxy-trust.ts';

/** Whether the proxy with that address is trusted; the nearest has the hop 0. */
export type TrustsProxy = (address: string, hop: number) => boolean;

/** What each proxy on the way may have added a value to. */
const LISTS = ['x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port', 'x-forwarded-prefix'];
const ADDRESSES = 'x-forwarded-for';
/** Addresses that are looked at, and characters. */
const MOST_PROXIES = 32;
const MOST_CHARACTERS = 2048;

export function trustOf({ hops, networks }: ProxyTrust): TrustsProxy {
  if (networks.length === 0) return (_address, hop) => hop < hops;
  const ranges = networks.map((each) => ipaddr.parseCIDR(each));
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return ranges.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits));
  };
}

export function keepTrustedHeaders(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  trusts: TrustsProxy,
): void {
  if (!trusts(socket.remoteAddress ?? '', 0)) {
    for (const name of [ADDRESSES, ...LISTS]) delete headers[name];
    return;
  }
  // From the right: each proxy adds the address that it was asked from, and the first who is not trusted could write all before it.
  const kept: string[] = [];
  let trusted = 1;
  for (const written of valuesOf(headers[ADDRESSES]).toReversed()) {
    const address = addressIn(written);
    if (address === undefined) break;
    kept.unshift(address);
    if (!trusts(address, trusted)) break;
    trusted++;
  }
  if (kept.length > 0) headers[ADDRESSES] = kept.join(', ');
  else delete headers[ADDRESSES];
  for (const name of LISTS) {
    const values = valuesOf(headers[name]);
    if (values.length > trusted) headers[name] = values.slice(-trusted).join(', ');
  }
}

function valuesOf(header: string | string[] | undefined): string[] {
  if (header === undefined) return [];
  const values = String(header).slice(-MOST_CHARACTERS).split(',');
  return values.slice(-MOST_PROXIES).map((each) => each.trim());
}

/** Some proxies write a port behind it. */
function addressIn(text: string): string | undefined {
  const [, v6, v4] = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::\d{1,5})?$/i.exec(text) ?? [];
  const address = v6 ?? v4 ?? text;
  if (!/^[\da-f:.]{2,45}$/i.test(address)) return undefined;
  const isAddress = address.includes(':') ? ipaddr.IPv6.isValid(address) : ipaddr.IPv4.isValidFourPartDecimal(address);
  return isAddress ? ipaddr.process(address).toString() : undefined;
}
