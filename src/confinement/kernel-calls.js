// @ts-check
/**
 * The system calls by which walls are laid. Plain JavaScript, which starts quickest: it is run by the launcher and by
 * programs behind walls; the activator itself lays none on itself.
 */
import { readdirSync } from 'node:fs';
import { constants } from 'node:os';

/** Numbers of the calls made here, by architecture. They repeat those of `system-calls.ts`, which this JavaScript cannot import. */
export const NUMBERS = {
  x64: { execve: 59, seccomp: 317, capset: 126, close_range: 436 },
  arm64: { execve: 221, seccomp: 277, capset: 91, close_range: 436 },
};
const {
  execve: EXECVE,
  seccomp: SECCOMP,
  capset: CAPSET,
  close_range: CLOSE_RANGE,
} = process.arch === 'arm64' ? NUMBERS.arm64 : NUMBERS.x64;
const LANDLOCK_CREATE_RULESET = 444;
const LANDLOCK_ADD_RULE = 445;
const LANDLOCK_RESTRICT_SELF = 446;

const LANDLOCK_ASK_VERSION = 1;
const LANDLOCK_PATH_BENEATH = 1;
const LANDLOCK_NET_PORT = 2;
const PR_SET_PDEATHSIG = 1;
const PR_SET_DUMPABLE = 4;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const SECCOMP_SET_MODE_FILTER = 1;
const SECCOMP_ASK_ACTION = 2;
const SECCOMP_TSYNC = 1;
/** Without it, kernels before 5.16 slow down every program that has a filter. */
const SECCOMP_SPEC_ALLOW = 4;
const SECCOMP_KILL_PROCESS = 0x80000000;
const CAPABILITIES_VERSION = 0x20080522;
const LAST_CAPABILITY = 63;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const CLOSE_RANGE_CLOEXEC = 4;
const MOST_FDS = 0xffffffff;
const BYTES_OF_INSTRUCTION = 8;

/**
 * @typedef {import('./bpf.ts').Filter} Filter
 * @typedef {import('./bpf.ts').Placeholder} Placeholder
 * @typedef {ReturnType<typeof openKernel>} KernelCalls
 */

/** @param {string} path of the native part of koffi; its JavaScript takes three times as long to load. */
export function openKernel(path) {
  const loaded = { exports: /** @type {any} */ ({}) };
  process.dlopen(loaded, path);
  const koffi = loaded.exports;
  const libc = koffi.load(null);
  koffi.struct('sock_fprog', { len: 'uint16_t', filter: 'const void *' });
  const prctl = libc.func('int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)');

  /** @param {string} signature @returns {(...values: unknown[]) => number} */
  const call = (signature) => {
    const run = libc.func(`long syscall(long, ${signature})`);
    return (...values) => Number(run(...values));
  };
  /** @param {string} what @param {number} result @returns {number} @throws {Error} with the name of the error as its code. */
  const must = (what, result) => {
    if (result >= 0) return result;
    const number = koffi.errno();
    const [code = String(number)] = Object.entries(constants.errno).find((each) => each[1] === number) ?? [];
    throw Object.assign(new Error(`${what}: ${code}`), { code });
  };
  /** @param {Filter} filter @param {Partial<Record<Placeholder, number>>} known @param {number} flags */
  const filterCalls = ({ code, placeholders }, known, flags) => {
    const bytes = Buffer.from(code, 'base64');
    for (const [at, what] of placeholders) bytes.writeUInt32LE(known[what] ?? 0, at * BYTES_OF_INSTRUCTION + 4);
    const install = call('unsigned int, unsigned int, sock_fprog *');
    const program = { len: bytes.length / BYTES_OF_INSTRUCTION, filter: bytes };
    must('seccomp', install(SECCOMP, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_SPEC_ALLOW, program));
  };

  return {
    /** @throws {Error} with code ENOSYS, EOPNOTSUPP, or EPERM where something refuses to be asked. */
    landlockAbi: () =>
      must('landlock', call('void *, size_t, uint32_t')(LANDLOCK_CREATE_RULESET, null, 0, LANDLOCK_ASK_VERSION)),
    /** @throws {Error} where there is none. */
    askSeccomp() {
      const action = Buffer.alloc(4);
      action.writeUInt32LE(SECCOMP_KILL_PROCESS);
      must('seccomp', call('unsigned int, unsigned int, const void *')(SECCOMP, SECCOMP_ASK_ACTION, 0, action));
    },
    /** @param {number} signal that this process gets when its parent ends. */
    dieWithParent: (signal) => must('death with the parent', prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0)),
    gainNothing: () => must('no new privileges', prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)),
    /** Nobody else of the same user may look into this process; an exec takes it back. */
    hide: () => must('dumpable', prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)),
    /** Lowers a limit, if it is higher. @param {number} resource @param {number} most */
    limit(resource, most) {
      const [now, next] = [Buffer.alloc(16), Buffer.alloc(16)];
      must('limits', libc.func('int getrlimit(int, void *)')(resource, now));
      const hard = now.readBigUInt64LE(8);
      const least = hard < BigInt(most) ? hard : BigInt(most);
      next.writeBigUInt64LE(least, 0);
      next.writeBigUInt64LE(least, 8);
      must('limits', libc.func('int setrlimit(int, const void *)')(resource, next));
    },
    /** Keeps the first file descriptors over the exec, and no others that came from whoever started the activator. @param {number} count */
    passOn(count) {
      const set = libc.func('int fcntl(int, int, int)');
      const close = call('unsigned int, unsigned int, unsigned int');
      if (close(CLOSE_RANGE, count, MOST_FDS, CLOSE_RANGE_CLOEXEC) < 0)
        for (const fd of readdirSync('/proc/self/fd').map(Number)) set(fd, F_SETFD, FD_CLOEXEC);
      // Node closes all that it begins with.
      for (let fd = 0; fd < count; fd++) must('file descriptors', set(fd, F_SETFD, 0));
    },
    /** @param {number} signal which Node ignores, and so would what it becomes. */
    takeDefault: (signal) => libc.func('void *signal(int, void *)')(signal, null),
    /** @param {{ effective: bigint, permitted: bigint }} capabilities as bits. */
    setCapabilities({ effective, permitted }) {
      const header = Buffer.alloc(8);
      header.writeUInt32LE(CAPABILITIES_VERSION);
      const data = Buffer.alloc(24);
      const low = 0xffffffffn;
      data.writeUInt32LE(Number(effective & low), 0);
      data.writeUInt32LE(Number(permitted & low), 4);
      data.writeUInt32LE(Number(effective >> 32n), 12);
      data.writeUInt32LE(Number(permitted >> 32n), 16);
      return must('capabilities', call('const void *, const void *')(CAPSET, header, data));
    },
    /** @param {bigint} kept as bits; no exec gives the others back. */
    boundCapabilities(kept) {
      prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
      for (let bit = 0; bit <= LAST_CAPABILITY; bit++)
        if ((kept & (1n << BigInt(bit))) === 0n && prctl(PR_CAPBSET_DROP, bit, 0, 0, 0) < 0) break;
    },
    /**
     * @param {import('./landlock.ts').Domain} domain
     * @param {readonly (readonly [fd: number, rights: number])[]} opened its rules, as far as their files are there.
     */
    enterDomain({ files, network, scopes, ports }, opened) {
      const attributes = Buffer.alloc(24);
      attributes.writeBigUInt64LE(BigInt(files), 0);
      attributes.writeBigUInt64LE(BigInt(network), 8);
      attributes.writeBigUInt64LE(BigInt(scopes), 16);
      // An older kernel takes zeros behind what it knows.
      const make = call('const void *, size_t, uint32_t');
      const rules = must('landlock', make(LANDLOCK_CREATE_RULESET, attributes, attributes.length, 0));
      const add = call('int, int, const void *, uint32_t');
      for (const [fd, rights] of opened) {
        const beneath = Buffer.alloc(12);
        beneath.writeBigUInt64LE(BigInt(rights), 0);
        beneath.writeInt32LE(fd, 8);
        must('landlock', add(LANDLOCK_ADD_RULE, rules, LANDLOCK_PATH_BENEATH, beneath, 0));
      }
      for (const port of ports) {
        const allowed = Buffer.alloc(16);
        allowed.writeBigUInt64LE(BigInt(network) & 2n, 0);
        allowed.writeBigUInt64LE(BigInt(port), 8);
        must('landlock', add(LANDLOCK_ADD_RULE, rules, LANDLOCK_NET_PORT, allowed, 0));
      }
      must('landlock', call('int, uint32_t')(LANDLOCK_RESTRICT_SELF, rules, 0));
    },
    /** For what this process becomes. @param {Filter} filter @param {Partial<Record<Placeholder, number>>} known */
    filterCalls: (filter, known) => filterCalls(filter, known, 0),
    /** For all threads of this process at once. @param {Filter} filter */
    filterCallsOfAll: (filter) => filterCalls(filter, { pid: process.pid }, SECCOMP_TSYNC),
    /**
     * Becomes another program, past its own filter by the keys.
     * @param {string} program @param {readonly string[]} args @param {readonly string[]} env @param {readonly number[]} keys
     */
    become: (program, args, env, keys) =>
      must(
        program,
        call('const char *, const char **, const char **, unsigned long, unsigned long, unsigned long')(
          EXECVE,
          program,
          [program, ...args, null],
          [...env, null],
          ...keys,
        ),
      ),
  };
}
