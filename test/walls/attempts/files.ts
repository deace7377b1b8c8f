/** Reads and changes files that belong to others. */
import type { Attempt, Target } from '../support/attempt.ts';
import { CURRENT_FOLDER, call, ints, open, read, showing } from '../support/steps.ts';
import type { Way } from '../support/steps.ts';

const CREATE = 0o102;
const TRUNCATE = 0o1001;
const APPEND = 0o2001;
const DIRECTORY = 0o200000;
const FIFO = 0o010000;
const UNIX = 1;
const STREAM = 1;
const REMOVE = 0;
const CREATE_PRIVATE = 0o1600;
/** Its path must be known; a filter of system calls sees none. */
const NO_RIGHT = {
  node: 'Landlock knows no right to it',
  python: 'Landlock knows no right to it',
  npm: 'Landlock knows no right to it',
  build: 'Landlock knows no right to it',
};
/** Of what a file may have set on it, to read and to set. */
const GET_FLAGS = 0x80086601;
const SET_FLAGS = 0x40086602;
const ANY_CHANGE = 0xfff;

const OF_ITSELF = 0x1000;
const STATUS = 256;
/** In the answer of statx. */
const MODE_AT = 28;
const CHANGED_AT = 112;
const REGULAR = 0o100000;
const statusOfOpen = call('statx', { of: 0 }, '', OF_ITSELF, 0xfff, { room: STATUS });

/** Of what the first step of the way opened; each is seen afterwards. */
const setMode = (mode: number): Way => [
  call('fchmod', { of: 0 }, mode),
  showing(statusOfOpen, { bytes: ints(REGULAR | mode).slice(0, 4), at: MODE_AT }),
];
const setTimes = (seconds: number): Way => [
  call('utimensat', { of: 0 }, 0, { words: [seconds, 0, seconds, 0] }, 0),
  showing(statusOfOpen, { bytes: ints(seconds, 0), at: CHANGED_AT }),
];

const create = (path: string): Way => [open(path, CREATE)];
const victim = ({ free }: Target): string => `${free}/victim`;

export const reads: readonly Omit<Attempt, 'aim'>[] = [
  { name: 'a file of the shelf', ways: ({ stored, marker }) => [read(stored, marker)] },
  {
    name: 'the list of the shelf',
    ways: ({ shelf }) => [[open(shelf, DIRECTORY), call('getdents64', { of: 0 }, { room: 4096 }, 4096)]],
  },
  {
    name: 'a file of the shelf by openat2',
    ways: ({ stored }) => [
      [call('openat2', CURRENT_FOLDER, stored, { words: [0, 0, 0] }, 24), call('read', { of: 0 }, { room: 64 }, 64)],
    ],
  },
  {
    name: 'a file of the shelf by the roots of processes',
    ways: ({ stored, activator }) =>
      ['self', 'thread-self', activator].map((each) => read(`/proc/${each}/root${stored}`)),
  },
  {
    name: 'a file of the shelf by its handle',
    ways: ({ stored }) => {
      const handle = { kept: 'handle', content: `${ints(128)}${'00'.repeat(132)}` };
      return [
        [
          open('/', DIRECTORY),
          call('name_to_handle_at', CURRENT_FOLDER, stored, handle, { room: 8 }, 0),
          call('open_by_handle_at', { of: 0 }, handle, 0),
          call('read', { of: 2 }, { room: 64 }, 64),
        ],
      ];
    },
    ofRoot: true,
  },
  {
    name: 'when somebody uses a file of the shelf',
    ways: ({ shelf }) => [[call('inotify_init1', 0), call('inotify_add_watch', { of: 0 }, shelf, ANY_CHANGE)]],
  },
  {
    name: 'how large a file of the shelf is',
    open: NO_RIGHT,
    ways: ({ stored }) => [
      [call('newfstatat', CURRENT_FOLDER, stored, { room: 256 }, 0)],
      [call('statx', CURRENT_FOLDER, stored, 0, 0, { room: 256 })],
    ],
  },
  { name: 'a file of another knowledge object', ways: ({ other, marker }) => [read(other, marker)] },
  { name: 'the file with the password', ways: ({ password, marker }) => [read(password, marker)] },
  {
    name: 'the accounts of the machine',
    ways: ({ isRoot }) => [read(isRoot ? '/etc/shadow' : '/etc/passwd', 'root:')],
  },
];

export const writes: readonly Omit<Attempt, 'aim'>[] = [
  { name: 'a new file where the user may write', ways: ({ free }) => [create(`${free}/new`)] },
  { name: 'a new file in /tmp', ways: ({ unique }) => [create(`/tmp/${unique}`)] },
  { name: 'a new file in /dev/shm', ways: ({ unique }) => [create(`/dev/shm/${unique}`)] },
  { name: 'a new file on the shelf', ways: ({ shelf }) => [create(`${shelf}/new`)] },
  { name: 'a file of the shelf', ways: ({ stored }) => [[open(stored, APPEND)]] },
  { name: 'a file of another knowledge object', ways: ({ other }) => [[open(other, APPEND)]] },
  { name: 'its own code', ways: ({ own }) => [[open(own.file, APPEND)]] },
  { name: 'the program that runs it', ways: ({ own }) => [[open(own.program, APPEND)]] },
  {
    name: 'the length of a file',
    ways: (target) => [[call('truncate', victim(target), 0)], [open(victim(target), TRUNCATE)]],
  },
  {
    name: 'the name of a file',
    ways: ({ free }) => [[call('renameat2', CURRENT_FOLDER, `${free}/moved`, CURRENT_FOLDER, `${free}/moved-2`, 0)]],
  },
  { name: 'a file that goes away', ways: ({ free }) => [[call('unlinkat', CURRENT_FOLDER, `${free}/gone`, 0)]] },
  { name: 'a folder', ways: ({ free }) => [[call('mkdirat', CURRENT_FOLDER, `${free}/folder`, 0o700)]] },
  { name: 'a named pipe', ways: ({ free }) => [[call('mknodat', CURRENT_FOLDER, `${free}/pipe`, FIFO | 0o600, 0)]] },
  {
    name: 'a link to a file',
    ways: (target) => [
      [call('linkat', CURRENT_FOLDER, victim(target), CURRENT_FOLDER, `${target.free}/link`, 0)],
      [call('symlinkat', victim(target), CURRENT_FOLDER, `${target.free}/symlink`)],
    ],
  },
  {
    name: 'a socket as a file',
    ways: ({ free }) => [
      [call('socket', UNIX, STREAM, 0), call('bind', { of: 0 }, { bytes: unixAddress(`${free}/socket`) }, 110)],
    ],
  },
  {
    name: 'who may use a file',
    changes: ({ free }) => `${free}/mode`,
    ways: ({ free }) => [
      [call('fchmodat', CURRENT_FOLDER, `${free}/mode`, 0o644)],
      [call('fchmodat2', CURRENT_FOLDER, `${free}/mode`, 0o644, 0)],
      [call('chmod', `${free}/mode`, 0o644)],
    ],
  },
  {
    name: 'who may use its own code, which it may open to read',
    // One of the two may be its mode already: a filter tells of both that they were set.
    ways: ({ own }) => [[open(own.file), ...[0o600, 0o644].flatMap(setMode)]],
  },
  {
    name: 'the times of its own code, which it may open to read',
    ways: ({ own }) => [[open(own.file), ...[1, 2].flatMap(setTimes)]],
  },
  {
    name: 'whose a file is',
    changes: ({ free }) => `${free}/owner`,
    ways: ({ free, user, group }) => [
      [call('fchownat', CURRENT_FOLDER, `${free}/owner`, user, group, 0)],
      [call('chown', `${free}/owner`, user, group)],
      [open(`${free}/owner`), call('fchown', { of: 0 }, user, group)],
    ],
  },
  {
    name: 'the times of a file',
    changes: ({ free }) => `${free}/times`,
    ways: ({ free }) => [
      [call('utimensat', CURRENT_FOLDER, `${free}/times`, 0, 0)],
      [call('utimes', `${free}/times`, 0)],
      [call('utime', `${free}/times`, 0)],
      [call('futimesat', CURRENT_FOLDER, `${free}/times`, 0)],
    ],
  },
  {
    name: 'the attributes of a file',
    changes: ({ free }) => `${free}/attributes`,
    ways: ({ free }) => [
      [call('setxattr', `${free}/attributes`, 'user.kgrid', 'x', 1, 0)],
      [call('lsetxattr', `${free}/attributes`, 'user.kgrid', 'x', 1, 0)],
      [call('setxattrat', CURRENT_FOLDER, `${free}/attributes`, 0, 'user.kgrid', { words: ['x', 1] }, 16)],
    ],
  },
  {
    name: 'the flags of a file',
    changes: ({ free }) => `${free}/flags`,
    ways: ({ free }) => {
      const flags = { kept: 'flags', content: '00'.repeat(8) };
      const attributes = { kept: 'attributes', content: '00'.repeat(32) };
      return [
        [open(`${free}/flags`), call('ioctl', { of: 0 }, GET_FLAGS, flags), call('ioctl', { of: 0 }, SET_FLAGS, flags)],
        [
          call('file_getattr', CURRENT_FOLDER, `${free}/flags`, attributes, 24, 0),
          call('file_setattr', CURRENT_FOLDER, `${free}/flags`, attributes, 24, 0),
        ],
      ];
    },
  },
  {
    name: 'memory that outlives every process',
    ways: ({ unique }) => [
      [call('shmget', 0, 4096, CREATE_PRIVATE), call('shmctl', { of: 0 }, REMOVE, 0)],
      [call('msgget', 0, CREATE_PRIVATE), call('msgctl', { of: 0 }, REMOVE, 0)],
      [call('semget', 0, 1, CREATE_PRIVATE), call('semctl', { of: 0 }, 0, REMOVE, 0)],
      [call('mq_open', unique, CREATE, 0o600, 0), call('mq_unlink', unique)],
    ],
  },
];

export function unixAddress(path: string): string {
  const address = Buffer.alloc(110);
  address.writeUInt16LE(UNIX);
  address.write(path, 2, 'latin1');
  return address.toString('hex');
}
