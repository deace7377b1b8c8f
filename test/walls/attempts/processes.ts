/** Looks into other processes, steers them, and makes new ones. */
import { getPriority } from 'node:os';
import type { Attempt } from '../support/attempt.ts';
import { CURRENT_FOLDER, call, fork, inChild, ints, open, orFailsBy, read, times } from '../support/steps.ts';
import type { Way } from '../support/steps.ts';

const DIRECTORY = 0o200000;
const SEIZE = 0x4206;
const INTERRUPT = 0x4207;
const DETACH = 17;
const ANY_CHILD = 0x40000000;
const NO_SIGNAL = 0;
const PIPE = 3;
const SOCKET_LEVEL = 1;
const PEER_PIDFD = 77;
const SET_NAME = 15;
const CORE_SIZE = 4;
const OF_PROCESS = 1;
const BEST_EFFORT = (2 << 13) | 4;
const SIGCHLD = 17;
const EMPTY_PATH = 0x1000;
const BAD_POINTER = 1;
const SCRIPT = '#!/bin/sh\nexit 0\n';

/** Else who reads what its parent prints would wait for it. */
const CLOSE_ALL = call('close_range', 0, 1023, 0);
/** Seconds and nanoseconds. */
const LONG = call('nanosleep', { words: [60, 0] }, 0);
const piece = { words: [8, 8] };
const trace = (process: number): Way => [
  call('ptrace', SEIZE, process, 0, 0),
  call('ptrace', INTERRUPT, process, 0, 0),
  call('wait4', process, 0, ANY_CHILD, 0),
  call('ptrace', DETACH, process, 0, 0),
];
const memory = (process: number): readonly Way[] => [
  [open(`/proc/${process}/mem`)],
  [orFailsBy(call('process_vm_readv', process, { words: [{ room: 8 }, 8] }, 1, piece, 1, 0), 'EFAULT')],
  [orFailsBy(call('process_vm_writev', process, { words: [{ room: 8 }, 8] }, 1, piece, 1, 0), 'EFAULT')],
];

export const spies: readonly Omit<Attempt, 'aim'>[] = [
  { name: 'the environment of the first process', ways: () => [read('/proc/1/environ')], ofRoot: true },
  { name: 'the environment of the activator', ways: ({ activator }) => [read(`/proc/${activator}/environ`)] },
  { name: 'the command line of the activator', ways: ({ activator }) => [read(`/proc/${activator}/cmdline`)] },
  { name: 'the map of the activator’s memory', ways: ({ activator }) => [read(`/proc/${activator}/maps`)] },
  { name: 'the memory of the activator', ways: ({ activator }) => memory(activator) },
  {
    name: 'the list of the activator’s open files',
    ways: ({ activator }) => [
      [open(`/proc/${activator}/fd`, DIRECTORY), call('getdents64', { of: 0 }, { room: 4096 }, 4096)],
    ],
  },
  {
    name: 'an open file of the activator',
    ways: ({ activator }) => [[call('pidfd_open', activator, 0), call('pidfd_getfd', { of: 0 }, 0, 0)]],
  },
  {
    name: 'which files the activator has open',
    ways: ({ activator }) => [[call('kcmp', activator, activator, 0, 0, 0)]],
  },
  { name: 'the environment of another worker', ways: ({ sibling }) => [read(`/proc/${sibling}/environ`)] },
  { name: 'the memory of another worker', ways: ({ sibling }) => memory(sibling) },
  {
    name: 'the pipes of another worker',
    ways: ({ sibling }) => [
      [open(`/proc/${sibling}/fd/3`)],
      [call('pidfd_open', sibling, 0), call('pidfd_getfd', { of: 0 }, 3, 0)],
    ],
  },
  {
    name: 'the password in every process of the service',
    ways: ({ processes, marker }) => processes.map((each) => read(`/proc/${each}/environ`, marker)),
  },
  { name: 'the connections of the machine', ways: () => [read('/proc/self/net/tcp'), read('/proc/net/tcp')] },
  {
    name: 'the list of processes',
    ways: () => [[open('/proc', DIRECTORY), call('getdents64', { of: 0 }, { room: 4096 }, 4096)]],
  },
];

export const signals: readonly Omit<Attempt, 'aim'>[] = [
  { name: 'a signal to the activator', ways: ({ activator }) => [[call('kill', activator, NO_SIGNAL)]] },
  {
    name: 'a signal to a thread of the activator',
    ways: ({ activator }) => [[call('tgkill', activator, activator, NO_SIGNAL)], [call('tkill', activator, NO_SIGNAL)]],
  },
  {
    name: 'a signal with a value to the activator',
    ways: ({ activator }) => [
      [call('rt_sigqueueinfo', activator, NO_SIGNAL, { bytes: `${ints(0, 0, -1)}${'00'.repeat(116)}` })],
    ],
  },
  {
    name: 'a signal by a descriptor of the activator',
    ways: ({ activator }) => [
      [call('pidfd_open', activator, 0), call('pidfd_send_signal', { of: 0 }, NO_SIGNAL, 0, 0)],
    ],
  },
  {
    name: 'a signal to who holds the other end of its pipe',
    ways: () => [
      [
        // The next descriptor has the number of this one.
        call('dup', 0),
        call('close', { of: 0 }),
        call('getsockopt', PIPE, SOCKET_LEVEL, PEER_PIDFD, { room: 4 }, { bytes: ints(4) }),
        call('pidfd_send_signal', { of: 0 }, NO_SIGNAL, 0, 0),
      ],
    ],
    refusedBy: { npm: 'the shell between, which has no such pipe' },
    // It may be of another user.
    ofRoot: true,
  },
  { name: 'a signal to another worker', ways: ({ sibling }) => [[call('kill', sibling, NO_SIGNAL)]] },
  {
    name: 'a signal to the group of the activator',
    ways: ({ activatorGroup }) => [[call('kill', -activatorGroup, NO_SIGNAL)]],
  },
  { name: 'ptrace of another worker', ways: ({ sibling }) => [trace(sibling)] },
  { name: 'ptrace of the activator', ways: ({ activator }) => [trace(activator)] },
  {
    name: 'the priority of the activator',
    ways: ({ activator }) => [[call('setpriority', 0, activator, getPriority(activator))]],
  },
  {
    name: 'the cores of the activator',
    ways: ({ activator }) => [[call('sched_setaffinity', activator, 128, { bytes: 'ff'.repeat(128) })]],
  },
  {
    name: 'the scheduler of the activator',
    ways: ({ activator }) => [[call('sched_setscheduler', activator, 0, { bytes: ints(0, 0) })]],
  },
  {
    name: 'the disk time of the activator',
    ways: ({ activator }) => [[call('ioprio_set', OF_PROCESS, activator, BEST_EFFORT)]],
  },
  {
    name: 'a limit of the activator',
    ways: ({ activator }) => [[call('prlimit64', activator, CORE_SIZE, 0, { room: 16 })]],
  },
  {
    name: 'who ends first when memory is short',
    ways: ({ activator }) => [[open(`/proc/${activator}/oom_score_adj`, 1)], [open('/proc/self/oom_score_adj', 1)]],
  },
];

/** Fails by a bad pointer where the kernel would have started it. */
const start = (path: string): Way => [orFailsBy(call('execve', path, BAD_POINTER, BAD_POINTER), 'EFAULT')];
const run = (path: string, ...args: string[]): readonly Way[] => [
  start(path),
  [fork([call('execve', path, { words: [path, ...args, 0] }, { words: [0] })])],
];

/** In the same walls. */
const COMPILERS = { build: 'a build starts compilers', npm: 'a script starts compilers' };
const NPM_ONLY = { npm: 'a script starts compilers' };

export const programs: readonly Omit<Attempt, 'aim'>[] = [
  {
    name: 'a child',
    open: COMPILERS,
    ways: () => [
      [fork([])],
      [{ ...call('clone3', { words: [0, 0, 0, 0, SIGCHLD, 0, 0, 0] }, 64), child: [] }],
      [{ ...call('fork'), child: [] }],
    ],
  },
  {
    name: 'more and more children',
    open: COMPILERS,
    ways: () => [[times(40, fork([call('nanosleep', { words: [1, 0] }, 0)], { wait: false }))]],
  },
  {
    name: 'a child that is there when all else has ended',
    survives: true,
    ways: ({ unique }) => [
      [fork([CLOSE_ALL, call('prctl', SET_NAME, unique), call('setsid'), LONG], { wait: false })],
      [fork([CLOSE_ALL, call('prctl', SET_NAME, unique), LONG], { wait: false })],
    ],
  },
  { name: 'a session of its own', ways: () => inChild(call('setsid')) },
  { name: 'a group of processes of its own', ways: () => inChild(call('setpgid', 0, 0)) },
  { name: 'a shell', open: COMPILERS, ways: () => run('/bin/sh', '-c', 'exit 0') },
  { name: 'Node', open: NPM_ONLY, ways: ({ node }) => run(node, '--version') },
  { name: 'Python', open: COMPILERS, ways: ({ python }) => [...run(python, '-V'), ...run('/usr/bin/python3', '-V')] },
  {
    name: 'the loader of programs',
    open: COMPILERS,
    ways: () =>
      ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1', '/lib/ld-musl-x86_64.so.1'].flatMap((each) =>
        run(each, '--version'),
      ),
  },
  {
    name: 'a program that it wrote',
    open: NPM_ONLY,
    ways: ({ own, unique }) =>
      [own.scratch, '/tmp', '/dev/shm'].map((folder) => {
        const path = `${folder}/${unique}-program`;
        return [
          call('openat', CURRENT_FOLDER, path, 0o102, 0o700),
          call('write', { of: 0 }, SCRIPT, SCRIPT.length),
          call('close', { of: 0 }),
          ...start(path),
        ];
      }),
  },
  {
    name: 'a program in memory',
    ways: () => [
      [
        call('memfd_create', 'program', 0),
        call('write', { of: 0 }, SCRIPT, SCRIPT.length),
        orFailsBy(call('execveat', { of: 0 }, '', BAD_POINTER, BAD_POINTER, EMPTY_PATH), 'EFAULT'),
      ],
    ],
  },
];
