import ipaddr from 'ipaddr.js';

/** True for an address or name that only this machine has; an IPv6 address with or without its brackets. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  const address = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  // A name such as 127.evil.example is anybody's.
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false;
  return ipaddr.process(address).range() === 'loopback';
}
