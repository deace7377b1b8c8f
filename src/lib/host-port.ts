import ipaddr from 'ipaddr.js';

/** Where a TCP connection leads. */
export interface HostPort {
  /** A name in lower case without a period at its end, or an IP address without brackets: one spelling for each. */
  readonly host: string;
  readonly port: number;
}

/** What a host without a port means where people write it: what they send travels encrypted. */
export const STANDARD_PORT = 443;

/** No control characters, no parts of a URL, and no `*` or `%`; a colon only within brackets. */
const AUTHORITY = /^(\[[\da-f:.]{2,45}\]|[^\s\p{Cc}:/?#@\\[\]<>^|%*]{1,255})(?::(\d{1,5}))?$/iu;

/**
 * Reads `host:port`; without a port where there is a standard one. Names of other alphabets are given as they are in
 * DNS. Undefined when it is none.
 */
export function parseHostPort(text: string, standardPort?: number): HostPort | undefined {
  const [, written, digits] = AUTHORITY.exec(text) ?? [];
  const port = digits === undefined ? standardPort : Number(digits);
  if (written === undefined || port === undefined || port < 1 || port > 65_535) return undefined;
  const host = toHost(written);
  return host === undefined ? undefined : { host, port };
}

/** Reads a host as browsers do: `0x7f.1` is 127.0.0.1. */
function toHost(written: string): string | undefined {
  const name =
    URL.parse(`http://${written}`)
      ?.hostname.replace(/^\[|\]$/g, '')
      .replace(/\.$/, '') ?? '';
  if (ipaddr.isValid(name)) return ipaddr.process(name).toString();
  return name.length <= MAX_NAME_CHARACTERS && name.split('.').every((label) => LABEL.test(label)) ? name : undefined;
}

/** The limit of DNS. */
const MAX_NAME_CHARACTERS = 253;
const LABEL = /^[\w-]{1,63}$/;

/** `host:port`, IPv6 in brackets. */
export const formatHostPort = ({ host, port }: HostPort): string => `${formatHost(host)}:${String(port)}`;

/** Formats a host for a URL. */
const formatHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);

export const isSameHostPort = (one: HostPort, other: HostPort): boolean =>
  one.host === other.host && one.port === other.port;

/** True for an address or name that only this machine has; an IPv6 address with or without its brackets. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  const address = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  // A name such as 127.evil.example is anybody's.
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false;
  return ipaddr.process(address).range() === 'loopback';
}
