/** Reaches others by sockets. */
import type { Attempt, Target } from '../support/attempt.ts';
import { call } from '../support/steps.ts';
import type { Arg, Way } from '../support/steps.ts';
import { unixAddress } from './files.ts';

const UNIX = 1;
const INTERNET = 2;
const INTERNET_6 = 10;
const NETLINK = 16;
const PACKET = 17;
const VSOCK = 40;
const STREAM = 1;
const DATAGRAM = 2;
const RAW = 3;
const ICMP = 1;
const MULTIPATH_TCP = 262;
const SCTP = 132;
const FAST_OPEN = 0x20000000;

const address = (port: number): Arg => ({ bytes: `0200${hex(port)}7f000001${'00'.repeat(8)}` });
const address6 = (port: number): Arg => ({ bytes: `0a00${hex(port)}00000000${'00'.repeat(10)}ffff7f00000100000000` });
const hex = (port: number): string => port.toString(16).padStart(4, '0');
const socket = (...args: number[]) => call('socket', ...args);
const connect = (port: number, protocol = 0): Way => [
  socket(INTERNET, STREAM, protocol),
  call('connect', { of: 0 }, address(port), 16),
];
const unix = (name: string, type = STREAM): Way => [
  socket(UNIX, type, 0),
  call('connect', { of: 0 }, { bytes: unixAddress(name) }, name.startsWith('\0') ? 2 + name.length : 110),
];
const others = (): Way[] =>
  Array.from({ length: 46 }, (_, family) => family)
    .filter((family) => ![UNIX, INTERNET, INTERNET_6, NETLINK, PACKET, VSOCK].includes(family))
    .flatMap((family) => [STREAM, DATAGRAM, RAW, 5].map((type) => [socket(family, type, 0)]));

export const network: readonly Omit<Attempt, 'aim'>[] = [
  { name: 'a connection to the activator', ways: ({ tcp }: Target) => [connect(tcp)] },
  {
    name: 'a connection by the newer protocol of the internet',
    ways: ({ tcp }) => [[socket(INTERNET_6, STREAM, 0), call('connect', { of: 0 }, address6(tcp), 28)]],
  },
  { name: 'a connection on several paths', ways: ({ tcp }) => [connect(tcp, MULTIPATH_TCP)] },
  {
    name: 'data before there is a connection',
    ways: ({ tcp }) => [[socket(INTERNET, STREAM, 0), call('sendto', { of: 0 }, 'x', 1, FAST_OPEN, address(tcp), 16)]],
  },
  { name: 'a socket of SCTP', ways: () => [[socket(INTERNET, STREAM, SCTP)]] },
  {
    name: 'a datagram',
    ways: ({ udp }) => [
      [socket(INTERNET, DATAGRAM, 0), call('sendto', { of: 0 }, 'x', 1, 0, address(udp), 16)],
      [socket(INTERNET, DATAGRAM, 0), call('connect', { of: 0 }, address(udp), 16)],
    ],
  },
  { name: 'a raw socket', ways: () => [[socket(INTERNET, RAW, ICMP)]], ofRoot: true },
  { name: 'packets of the network card', ways: () => [[socket(PACKET, RAW, 0)]], ofRoot: true },
  { name: 'a socket to the kernel', ways: () => [[socket(NETLINK, RAW, 0)]] },
  { name: 'a socket to the host of a virtual machine', ways: () => [[socket(VSOCK, STREAM, 0)]] },
  { name: 'a socket of any other family', ways: others, ofRoot: true },
  { name: 'a socket in the file system', ways: (target) => [unix(target.unix)] },
  { name: 'an abstract socket', ways: (target) => [unix(`\0${target.abstract}`)] },
  {
    name: 'a port that listens',
    ways: () => [[socket(INTERNET, STREAM, 0), call('bind', { of: 0 }, address(0), 16), call('listen', { of: 0 }, 1)]],
  },
  {
    name: 'a port that listens, of the kernel’s choice',
    ways: () => [[socket(INTERNET, STREAM, 0), call('listen', { of: 0 }, 1)]],
  },
  {
    name: 'a port for datagrams',
    ways: () => [[socket(INTERNET, DATAGRAM, 0), call('bind', { of: 0 }, address(0), 16)]],
  },
  {
    name: 'an abstract socket that listens',
    ways: ({ unique }) => [
      [
        socket(UNIX, STREAM, 0),
        call('bind', { of: 0 }, { bytes: unixAddress(`\0${unique}`) }, 20),
        call('listen', { of: 0 }, 1),
      ],
    ],
  },
];
