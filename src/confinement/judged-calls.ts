/**
 * System calls that are refused, each list with its reason. What is not here is open: it is what programs live by
 * (memory, threads, time, files that Landlock judges), or works on the process itself alone.
 */
import type { Test } from './bpf.ts';

export interface Judged {
  /** Names, of which an architecture may lack some. */
  readonly calls: string;
  readonly when?: readonly Test[];
  /** Number of the error; 0 looks like success. */
  readonly errno: number;
}

export const EPERM = 1;
export const ENOSYS = 38;

const argument = (index: number, is: Test['is'], mask?: number): Test => ({
  argument: index,
  is,
  ...(mask !== undefined && { mask }),
});
const not = (test: Test): Test => ({ ...test, not: true });
/** One case for each number that an argument may not be. */
const among = (calls: string, index: number, numbers: readonly number[]): Judged[] =>
  numbers.map((number) => ({ calls, when: [argument(index, number)], errno: EPERM }));

const CLONE_THREAD = 0x10000;
const CLONE_PARENT = 0x8000;
/** All `CLONE_NEW…`. */
const NAMESPACES = 0x7e020000;

/** No program that runs code of others needs any of these. */
export const NEVER: readonly Judged[] = [
  // Other processes, and what they hold.
  {
    calls: 'ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd',
    errno: EPERM,
  },
  // Into the kernel, where faults are found most often.
  { calls: 'bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register', errno: EPERM },
  { calls: 'keyctl add_key request_key', errno: EPERM },
  { calls: 'mount umount2 pivot_root chroot open_tree open_tree_attr move_mount mount_setattr', errno: EPERM },
  { calls: 'fsopen fsconfig fsmount fspick statmount listmount quotactl quotactl_fd acct', errno: EPERM },
  { calls: 'unshare setns', errno: EPERM },
  { calls: 'kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff', errno: EPERM },
  { calls: 'settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname vhangup syslog', errno: EPERM },
  { calls: 'iopl ioperm modify_ldt migrate_pages move_pages', errno: EPERM },
  { calls: 'setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset', errno: EPERM },
  // Out of the group that ends as one.
  { calls: 'setsid setpgid', errno: EPERM },
  // By handles, past the rules for paths; and what tells of changes to files that may not be read.
  { calls: 'open_by_handle_at name_to_handle_at fanotify_init fanotify_mark', errno: EPERM },
  { calls: 'inotify_init inotify_init1 inotify_add_watch', errno: EPERM },
  // Shared with all processes of the user, and memory that nobody counts.
  { calls: 'shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl', errno: EPERM },
  { calls: 'mq_open mq_unlink memfd_create memfd_secret', errno: EPERM },
  // Makes the whole machine write.
  { calls: 'sync syncfs', errno: EPERM },
  // Attributes of files that are open for reading only.
  { calls: 'file_setattr', errno: EPERM },
  { calls: 'clone', when: [not(argument(0, 0, NAMESPACES))], errno: EPERM },
  { calls: 'clone', when: [argument(0, CLONE_PARENT, CLONE_PARENT | CLONE_THREAD)], errno: EPERM },
  // Its flags are behind a pointer, which no filter follows; libraries go back to `clone`.
  { calls: 'clone3', errno: ENOSYS },
  // Itself only: `prlimit64` and priorities know processes by number.
  {
    calls: 'prlimit64 sched_setaffinity sched_setscheduler sched_setparam sched_setattr',
    when: [not(argument(0, 0))],
    errno: EPERM,
  },
  { calls: 'setpriority', when: [not(argument(0, 0))], errno: EPERM },
  { calls: 'setpriority', when: [not(argument(1, 0))], errno: EPERM },
  { calls: 'ioprio_set', when: [not(argument(0, 1))], errno: EPERM },
  { calls: 'ioprio_set', when: [not(argument(1, 0))], errno: EPERM },
  // To ask is allowed.
  { calls: 'personality', when: [not(argument(0, 0xffffffff))], errno: EPERM },
  // PR_SET_PDEATHSIG, PR_SET_MM, PR_SET_CHILD_SUBREAPER, PR_SET_PTRACER; and PR_SET_DUMPABLE but to 0.
  ...among('prctl', 0, [1, 35, 36, 0x59616d61]),
  { calls: 'prctl', when: [argument(0, 4), not(argument(1, 0))], errno: EPERM },
  // F_SETOWN, F_SETSIG, F_SETOWN_EX: signals to others; F_SETLEASE: keeps others from opening.
  ...among('fcntl', 1, [8, 10, 15, 1024]),
  // TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP; FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY on what is only read.
  ...among('ioctl', 1, [0x5412, 0x541c, 0x8901, 0x8902, 0x40086602, 0x401c5820, 0x40806685]),
];

/** Change attributes of files, also of those that are out of reach: Landlock does not judge them, and a filter sees no path. */
export const MODES_AND_TIMES = 'chmod fchmod fchmodat fchmodat2 utime utimes futimesat utimensat';
export const OTHER_ATTRIBUTES =
  'chown fchown lchown fchownat ' +
  'setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat';

/** Rules for a process that may start no processes. */
export const NO_PROCESSES: readonly Judged[] = [
  { calls: 'fork vfork execveat pidfd_open', errno: EPERM },
  { calls: 'clone', when: [not(argument(0, CLONE_THREAD, CLONE_THREAD))], errno: EPERM },
  // The launcher starts the program with three numbers behind the arguments, which the kernel does not look at.
  ...(['key0', 'key1', 'key2'] as const).map((key, index) => ({
    calls: 'execve',
    when: [not(argument(3 + index, key))],
    errno: EPERM,
  })),
];

/** Where Landlock has no scopes: no signal but to itself. */
export const NO_SIGNALS: readonly Judged[] = [
  { calls: 'kill tgkill rt_sigqueueinfo rt_tgsigqueueinfo', when: [not(argument(0, 'pid'))], errno: EPERM },
  { calls: 'tkill pidfd_send_signal', errno: EPERM },
];

const O_TRUNC = 0o1000;
const O_ACCMODE = 0o3;
/** Where Landlock does not judge how files are made shorter. */
export const NO_TRUNCATION: readonly Judged[] = [
  { calls: 'truncate', errno: EPERM },
  { calls: 'openat2', errno: ENOSYS },
  { calls: 'open', when: [argument(1, O_TRUNC, O_TRUNC | O_ACCMODE)], errno: EPERM },
  { calls: 'openat', when: [argument(2, O_TRUNC, O_TRUNC | O_ACCMODE)], errno: EPERM },
];

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
/** Without its flags. */
const TYPE = 0xf;
const TCP = 6;
const UDP = 17;
const MSG_FASTOPEN = 0x20000000;

export interface Allowed {
  readonly calls: string;
  readonly when: readonly Test[];
}

const stream = (family: number, protocol: number): Allowed => ({
  calls: 'socket',
  when: [argument(0, family), argument(1, SOCK_STREAM, TYPE), argument(2, protocol)],
});
const datagrams = (family: number, protocol: number): Allowed => ({
  calls: 'socket',
  when: [argument(0, family), argument(1, SOCK_DGRAM, TYPE), argument(2, protocol)],
});

/** Not MPTCP or SCTP, which connect past the rules for TCP. */
export const INTERNET: readonly Allowed[] = [AF_INET, AF_INET6].flatMap((family) => [
  stream(family, 0),
  stream(family, TCP),
]);
/** To ask for names. */
export const DATAGRAMS: readonly Allowed[] = [AF_INET, AF_INET6].flatMap((family) => [
  datagrams(family, 0),
  datagrams(family, UDP),
]);
/** Event loops wake themselves by a pair; one of datagrams could send to any socket of the machine. */
export const PAIRS: readonly Allowed[] = [
  { calls: 'socketpair', when: [argument(0, AF_UNIX), argument(1, SOCK_STREAM, TYPE), argument(2, 0)] },
];

/** Connects in sending, past the rules for `connect`. */
export const NO_FAST_OPEN: readonly Judged[] = [
  { calls: 'sendto sendmmsg', when: [argument(3, MSG_FASTOPEN, MSG_FASTOPEN)], errno: EPERM },
  { calls: 'sendmsg', when: [argument(2, MSG_FASTOPEN, MSG_FASTOPEN)], errno: EPERM },
];
