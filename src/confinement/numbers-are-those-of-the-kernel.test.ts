/**
 * The table of system calls, on any machine: against the headers of the kernel where they are installed, which hold the
 * numbers of arm64 beside those of x86-64, and against what is known of both without them.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { NUMBERS } from './kernel-calls.js';
import { LAST_KNOWN, systemCalls } from './system-calls.ts';

/** Headers of Debian and Ubuntu, and of other systems. */
const HEADERS = {
  x64: ['/usr/include/x86_64-linux-gnu/asm/unistd_64.h', '/usr/include/asm/unistd_64.h'],
  arm64: ['/usr/include/asm-generic/unistd.h'],
} as const;

/** Calls that no kernel has any more; a filter refuses or ignores them as it does all without a name. */
const GONE =
  'uselib _sysctl create_module get_kernel_syms query_module nfsservctl getpmsg putpmsg afs_syscall tuxcall ' +
  'security epoll_ctl_old epoll_wait_old vserver';
/** In the generic header for other machines: some, and those with words of 32 bits. */
const OF_OTHERS = 'arch_specific_syscall sync_file_range2';
const OF_32_BITS =
  /^([fl]?stat64|fcntl64|f?statfs64|f?truncate64|llseek|sendfile64|fstatat64|mmap2|fadvise64_64|\w+_time64|clock_(\w+)64|timer(fd)?_[gs]ettime64)$/;

for (const [arch, paths] of Object.entries(HEADERS)) {
  const header = paths.find((path) => existsSync(path));
  const skip = header === undefined && 'the headers of the kernel are not installed (linux-libc-dev)';
  test(`the numbers of ${arch} are those of its header, whatever machine this is`, { skip }, () => {
    const ofHeader = numbersIn(readFileSync(header ?? '', 'utf8'));
    const ofTable = systemCalls(arch);
    assert.ok(ofTable !== undefined && ofHeader.size > 300);
    const left = [...GONE.split(' '), ...(arch === 'arm64' ? OF_OTHERS.split(' ') : [])];
    const isOther = (name: string): boolean => left.includes(name) || (arch === 'arm64' && OF_32_BITS.test(name));
    for (const [name, number] of ofHeader)
      if (number <= LAST_KNOWN && !isOther(name)) assert.equal(ofTable.get(name), number, name);
    const newest = Math.max(...ofHeader.values());
    for (const [name, number] of ofTable) if (number <= newest) assert.equal(ofHeader.get(name), number, name);
  });
}

test('each number is there once, and no gap is but where kernels have none', () => {
  const gaps = {
    x64: [134, 156, 174, 177, 178, ...between(180, 185), 214, 215, 236, ...between(335, 423)],
    arm64: [42, ...between(244, 259), ...between(295, 423)],
  };
  for (const [arch, expected] of Object.entries(gaps)) {
    const numbers = [...(systemCalls(arch)?.values() ?? [])];
    assert.equal(new Set(numbers).size, numbers.length, `${arch} has a number twice`);
    const missing = between(0, LAST_KNOWN).filter((number) => !numbers.includes(number));
    assert.deepEqual(missing, expected, arch);
  }
});

test('from 424 on all architectures share their numbers', () => {
  const [x64, arm64] = [systemCalls('x64'), systemCalls('arm64')];
  const newer = [...(x64 ?? [])].filter(([, number]) => number >= 424);
  assert.equal(newer.length, LAST_KNOWN - 423);
  for (const [name, number] of newer) assert.equal(arm64?.get(name), number, name);
});

test('what lays the walls calls the kernel by the same numbers', () => {
  for (const [arch, numbers] of Object.entries(NUMBERS))
    for (const [name, number] of Object.entries(numbers)) assert.equal(systemCalls(arch)?.get(name), number, name);
  for (const arch of ['x64', 'arm64'])
    assert.deepEqual(
      ['landlock_create_ruleset', 'landlock_add_rule', 'landlock_restrict_self'].map((name) =>
        systemCalls(arch)?.get(name),
      ),
      [444, 445, 446],
    );
});

const between = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, each) => first + each);

/** `#define __NR_name 12`, also by another name for machines with words of 64 bits. */
function numbersIn(header: string): Map<string, number> {
  const numbers = new Map<string, number>();
  const wide = new Map<string, number>();
  for (const [, kind, name = '', value = ''] of header.matchAll(/^#define __NR(3264)?_(\w+)\s+(\w+)$/gm)) {
    const number = /^\d+$/.test(value) ? Number(value) : wide.get(value.replace('__NR3264_', ''));
    if (number === undefined || name === 'syscalls') continue;
    if (kind !== undefined) wide.set(name, number);
    else if (!numbers.has(name)) numbers.set(name, number);
  }
  return numbers;
}
