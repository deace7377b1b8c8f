/** Parts of the kernel that no knowledge object needs, and what holds the walls together. */
import type { Attempt } from '../support/attempt.ts';
import { CURRENT_FOLDER, call, fork, inChild, open, orFailsBy } from '../support/steps.ts';
import type { Way } from '../support/steps.ts';

const NEW_USER = 0x10000000;
const NEW_MOUNTS = 0x20000;
const NEW_NETWORK = 0x40000000;
const PRIVATE_RECURSIVE = 0x44000;
const COPY_OF_TREE = 0x8001;
const USER_MODE_ONLY = 1;
const OPEN_FILES = 7;
const SET_PDEATHSIG = 1;
const SET_DUMPABLE = 4;
const NO_RANDOM_ADDRESSES = 0x40000;
/** `socket(AF_INET, SOCK_STREAM, 0)` by `int 0x80`. */
const SOCKET_OF_I386 = '53b867010000bb02000000b90100000031d2cd8048985bc3';

const makePrivate = call('mount', 'none', '/', 0, PRIVATE_RECURSIVE, 0);

export const kernel: readonly Omit<Attempt, 'aim'>[] = [
  { name: 'io_uring', ways: () => [[call('io_uring_setup', 8, { room: 120 })]] },
  {
    name: 'bpf',
    ways: () => [[call('bpf', 0, { words: [2 + 4 * 2 ** 32, 4 + 2 ** 32, 0, 0, 0, 0, 0, 0, 0] }, 72)]],
    ofRoot: true,
  },
  {
    name: 'perf',
    ways: () => [
      [call('perf_event_open', { words: [1 + 112 * 2 ** 32, 0, 0, 0, 0, 0x60, 0, 0, 0, 0, 0, 0, 0, 0] }, 0, -1, -1, 0)],
    ],
  },
  { name: 'userfaultfd', ways: () => [[call('userfaultfd', USER_MODE_ONLY)]] },
  {
    name: 'keys',
    ways: () => [
      [call('keyctl', 0, -3, 1)],
      [call('add_key', 'user', 'kgrid', 'x', 1, -2)],
      [orFailsBy(call('request_key', 'user', 'kgrid', 0, 0), 'ENOKEY')],
    ],
  },
  {
    name: 'a namespace of users',
    ways: () => [[fork([], { flags: NEW_USER })], ...inChild(call('unshare', NEW_USER))],
  },
  {
    name: 'a mount in namespaces of its own',
    ways: () => [
      [fork([makePrivate], { flags: NEW_USER | NEW_MOUNTS })],
      [fork([call('unshare', NEW_USER | NEW_MOUNTS), makePrivate])],
    ],
  },
  {
    name: 'a mount',
    ways: () => [
      [fork([call('unshare', NEW_MOUNTS), makePrivate])],
      [orFailsBy(call('mount', 'none', '/nonexistent', 'tmpfs', 0, 0), 'ENOENT')],
    ],
    ofRoot: true,
  },
  { name: 'a network of its own', ways: () => inChild(call('unshare', NEW_NETWORK)), ofRoot: true },
  {
    name: 'a namespace of others',
    ways: () => [[open('/proc/self/ns/uts'), call('setns', { of: 0 }, 0)]],
    ofRoot: true,
  },
  { name: 'a file system by fsopen', ways: () => [[call('fsopen', 'tmpfs', 0)]], ofRoot: true },
  {
    name: 'a copy of the tree of mounts',
    ways: () => [[call('open_tree', CURRENT_FOLDER, '/', COPY_OF_TREE)]],
    ofRoot: true,
  },
  { name: 'another root', ways: () => inChild(call('chroot', '/')), ofRoot: true },
  { name: 'all that anybody opens, by fanotify', ways: () => [[call('fanotify_init', 0, 0)]], ofRoot: true },
  { name: 'the log of the kernel', ways: () => [[call('syslog', 3, { room: 64 }, 64)]], ofRoot: true },
  { name: 'another kernel', ways: () => [[call('kexec_load', 0, 0, 0, 0)]], ofRoot: true },
  {
    name: 'a module of the kernel',
    ways: () => [[orFailsBy(call('init_module', 0, 0, ''), 'EFAULT', 'ENOEXEC')]],
    ofRoot: true,
  },
  { name: 'the end of the machine', ways: () => [[orFailsBy(call('reboot', 0, 0, 0, 0), 'EINVAL')]], ofRoot: true },
  { name: 'memory on a disk', ways: () => [[orFailsBy(call('swapon', '/nonexistent', 0), 'ENOENT')]], ofRoot: true },
  { name: 'the name of the machine', ways: () => [[orFailsBy(call('sethostname', 'x', -1), 'EINVAL')]], ofRoot: true },
  { name: 'ports of the hardware', ways: () => inChild(call('iopl', 3)), ofRoot: true },
  { name: 'memory at known addresses', ways: () => inChild(call('personality', NO_RANDOM_ADDRESSES)) },
  { name: 'segments of its own', ways: () => [[call('modify_ldt', 0, { room: 16 }, 16)]] },
  { name: 'calls of 32 bits', ways: (): Way[] => (process.arch === 'x64' ? [[{ code: SOCKET_OF_I386 }]] : []) },
  {
    name: 'a higher limit',
    ways: () => [[call('prlimit64', 0, OPEN_FILES, { words: [2 ** 20, 2 ** 20] }, 0)]],
    ofRoot: true,
  },
  { name: 'a life without its parent', ways: () => [[call('prctl', SET_PDEATHSIG, 0, 0, 0, 0)]] },
  { name: 'memory that others may read', ways: () => [[call('prctl', SET_DUMPABLE, 1, 0, 0, 0)]] },
];
