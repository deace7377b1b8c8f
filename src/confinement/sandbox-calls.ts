/** All that a javascript sandbox needs once it is up: memory, threads of V8, time, and its pipe. Nothing new is opened. */
import type { Allowed } from './judged-calls.ts';

const ANY: Allowed['when'] = [];
const CLONE_THREAD = 0x10000;
const CLONE_VM = 0x100;
const NAMESPACES = 0x7e020000;

export const ALLOWED_IN_SANDBOX: readonly Allowed[] = [
  { calls: 'read write readv writev close fstat lseek', when: ANY },
  { calls: 'mmap munmap mprotect mremap madvise brk mincore', when: ANY },
  { calls: 'pkey_alloc pkey_free pkey_mprotect membarrier', when: ANY },
  { calls: 'futex futex_wait futex_wake sched_yield sched_getaffinity getcpu', when: ANY },
  { calls: 'set_robust_list rseq rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall', when: ANY },
  { calls: 'exit exit_group', when: ANY },
  { calls: 'clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time', when: ANY },
  { calls: 'getpid gettid getrusage getrandom sysinfo', when: ANY },
  { calls: 'epoll_wait epoll_pwait epoll_ctl poll ppoll', when: ANY },
  {
    calls: 'clone',
    when: [{ argument: 0, mask: CLONE_THREAD | CLONE_VM | NAMESPACES, is: CLONE_THREAD | CLONE_VM }],
  },
  // PR_SET_NAME of a thread, PR_SET_VMA of its memory.
  { calls: 'prctl', when: [{ argument: 0, is: 15 }] },
  { calls: 'prctl', when: [{ argument: 0, is: 0x53564d41 }] },
  // How it ends itself.
  { calls: 'kill tgkill', when: [{ argument: 0, is: 'pid' }] },
];
