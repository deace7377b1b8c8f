import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ALLOW, KILL_PROCESS, refuseWith, writeFilter } from './bpf.ts';
import type { Rule, Test } from './bpf.ts';
import * as judgedCalls from './judged-calls.ts';
import { ALLOWED_IN_SANDBOX } from './sandbox-calls.ts';
import { sandboxFilter, startFilter } from './seccomp.ts';
import { interpret } from '../../test/support/confinement/interpret-filter.ts';
import { LAST_KNOWN, systemCalls } from './system-calls.ts';
import type { Walls } from './walls.ts';

const X64 = 0xc000003e;
const ARM64 = 0xc00000b7;
const EPERM = refuseWith(1);
const ENOSYS = refuseWith(38);

const unknown = { from: 100, action: ENOSYS };
const small = fc.nat({ max: 5 });
const someTest: fc.Arbitrary<Test> = fc.record(
  { argument: small, is: small, mask: fc.nat({ max: 7 }), not: fc.constant(true as const) },
  { requiredKeys: ['argument', 'is'] },
);
const someRule: fc.Arbitrary<Rule> = fc.record({
  call: small,
  when: fc.array(someTest, { maxLength: 4 }),
  action: fc.constantFrom(EPERM, ALLOW, refuseWith(0)),
});
const someValue = fc
  .tuple(small, fc.constantFrom(0n, 1n << 32n, 0xffffffffn << 32n))
  .map(([low, high]) => BigInt(low) | high);

const holds = (test: Test, args: readonly bigint[]): boolean => {
  const value = Number((args[test.argument] ?? 0n) & 0xffffffffn & BigInt(test.mask ?? 0xffffffff));
  return (value === test.is) !== (test.not === true);
};

test('a filter gives what the first rule says that holds, by the lower half of each argument', () => {
  fc.assert(
    fc.property(
      fc.array(someRule, { maxLength: 12 }),
      fc.constantFrom(ALLOW, EPERM),
      small,
      fc.array(someValue, { minLength: 6, maxLength: 6 }),
      (rules, otherwise, number, args) => {
        const filter = writeFilter({ arch: 'x64', rules, otherwise, unknown });
        const first = rules.find(({ call, when }) => call === number && when.every((each) => holds(each, args)));
        assert.equal(interpret(filter, { arch: X64, number, args }), first?.action ?? otherwise);
      },
    ),
    { numRuns: 2000 },
  );
});

test('another architecture and numbers of x32 end the process, newer calls do not exist', () => {
  for (const filter of [startFilter(walls(), 7, 'x64'), sandboxFilter('x64')]) {
    assert.ok(filter);
    const give = (arch: number, number: number): number => interpret(filter, { arch, number, args: [] });
    assert.equal(give(ARM64, 0), KILL_PROCESS);
    // 32 bits on the same machine.
    assert.equal(give(0x40000003, 0), KILL_PROCESS);
    assert.equal(give(X64, 0x40000000), KILL_PROCESS);
    assert.equal(give(X64, 0xffffffff), KILL_PROCESS);
    assert.equal(give(X64, LAST_KNOWN + 1), ENOSYS);
    assert.equal(give(X64, 0), ALLOW);
  }
  assert.equal(startFilter(walls(), 7, 'riscv64'), undefined);
});

test('placeholders are what the launcher fills in', () => {
  const rules: Rule[] = [{ call: 1, when: [{ argument: 0, is: 'pid', not: true }], action: EPERM }];
  const filter = writeFilter({ arch: 'arm64', rules, otherwise: ALLOW, unknown });
  const give = (pid: bigint): number => interpret(filter, { arch: ARM64, number: 1, args: [pid] }, { pid: 42 });
  assert.deepEqual([give(42n), give(43n)], [ALLOW, EPERM]);
});

test('every call that is judged has a number on x86-64, and on arm64 but for what that never had', () => {
  const lists = Object.values(judgedCalls)
    .flatMap((each) =>
      typeof each === 'string' ? [{ calls: each }] : Array.isArray(each) ? (each as { calls: string }[]) : [],
    )
    .concat(ALLOWED_IN_SANDBOX);
  const names = new Set(lists.flatMap(({ calls }) => calls.split(' ')));
  assert.ok(names.size > 100);
  const [x64, arm64] = [systemCalls('x64'), systemCalls('arm64')];
  assert.deepEqual(
    [...names].filter((name) => x64?.has(name) !== true),
    [],
  );
  const old =
    'fork vfork open chmod chown lchown utime utimes futimesat inotify_init iopl ioperm modify_ldt time poll epoll_wait';
  assert.deepEqual([...names].filter((name) => arm64?.has(name) !== true).sort(), old.split(' ').sort());
});

/** What a filter gives on both architectures. */
function given(which: Walls, landlock: number, name: string, ...args: number[]): number {
  const results = (['x64', 'arm64'] as const).map((arch) => {
    const number = systemCalls(arch)?.get(name);
    const filter = startFilter(which, landlock, arch);
    assert.ok(filter);
    const call = { arch: arch === 'x64' ? X64 : ARM64, number: number ?? 0, args: args.map(BigInt) };
    return number === undefined ? undefined : interpret(filter, call, { pid: 42, key0: 7, key1: 8, key2: 9 });
  });
  const [first] = results;
  for (const each of results) assert.equal(each ?? first, first, `${name} on both architectures`);
  return first ?? -1;
}

const walls = (more: Partial<Walls> = {}): Walls => ({
  read: [],
  execute: [],
  write: [],
  connect: [],
  calls: 'worker',
  processes: false,
  ...more,
});

test('threads are made, processes only where they are allowed, and namespaces never', () => {
  const thread = 0x3d0f00;
  assert.equal(given(walls(), 7, 'clone', thread), ALLOW);
  assert.equal(given(walls(), 7, 'clone', 17), EPERM);
  assert.equal(given(walls(), 7, 'clone3'), ENOSYS);
  const allowed = walls({ processes: true });
  assert.equal(given(allowed, 7, 'clone', 17), ALLOW);
  assert.equal(given(allowed, 7, 'clone', 0x8000), EPERM);
  for (const each of [walls(), allowed])
    for (const namespace of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
      assert.equal(given(each, 7, 'clone', thread | namespace), EPERM);
});

test('a program is started by the three numbers of the launcher alone', () => {
  assert.equal(given(walls(), 7, 'execve', 1, 2, 3, 7, 8, 9), ALLOW);
  for (const keys of [
    [0, 0, 0],
    [7, 8, 0],
    [7, 0, 9],
    [0, 8, 9],
  ])
    assert.equal(given(walls(), 7, 'execve', 1, 2, 3, ...keys), EPERM);
  assert.equal(given(walls(), 7, 'execveat', 0), EPERM);
  assert.equal(given(walls({ processes: true }), 7, 'execve', 1, 2, 3), ALLOW);
});

test('sockets are made where something may be connected to, for TCP alone; datagrams only to fetch packages', () => {
  const [inet, inet6, unix, netlink] = [2, 10, 1, 16];
  const [stream, datagram, raw] = [1, 2, 3];
  const cloexec = 0o2000000;
  const none = walls();
  const ports = walls({ connect: [443] });
  const any = walls({ calls: 'installer', connect: 'any' });
  assert.equal(given(none, 7, 'socket', inet, stream, 0), EPERM);
  assert.equal(given(none, 7, 'connect', 3), EPERM);
  assert.equal(given(none, 7, 'socketpair', unix, stream | cloexec, 0), ALLOW);
  assert.equal(given(none, 7, 'socketpair', unix, datagram, 0), EPERM);
  assert.equal(given(walls({ calls: 'sandbox' }), 7, 'socketpair', unix, stream, 0), EPERM);
  for (const family of [inet, inet6]) {
    assert.equal(given(ports, 7, 'socket', family, stream | cloexec, 0), ALLOW);
    assert.equal(given(ports, 7, 'socket', family, stream, 6), ALLOW);
    for (const protocol of [132, 262]) assert.equal(given(any, 7, 'socket', family, stream, protocol), EPERM);
    assert.equal(given(ports, 7, 'socket', family, datagram, 0), EPERM);
    assert.equal(given(any, 7, 'socket', family, datagram, 17), ALLOW);
    assert.equal(given(any, 7, 'socket', family, raw, 1), EPERM);
  }
  for (const family of [unix, netlink, 17, 38, 40]) assert.equal(given(any, 7, 'socket', family, stream, 0), EPERM);
  assert.equal(given(ports, 7, 'connect', 3), ALLOW);
  for (const name of ['bind', 'listen', 'accept', 'accept4']) assert.equal(given(any, 7, name, 3), EPERM);
  assert.equal(given(any, 7, 'sendto', 3, 0, 0, 0x20000000 | 0x4000), EPERM);
  assert.equal(given(any, 7, 'sendto', 3, 0, 0, 0x4000), ALLOW);
});

test('what an older Landlock does not judge is judged by the filter', () => {
  assert.equal(given(walls(), 6, 'kill', 1, 9), ALLOW);
  assert.equal(given(walls(), 5, 'kill', 1, 9), EPERM);
  assert.equal(given(walls(), 5, 'kill', 42, 9), ALLOW);
  assert.equal(given(walls(), 5, 'tgkill', 42, 43, 6), ALLOW);
  assert.equal(given(walls({ processes: true }), 5, 'kill', 43, 9), ALLOW);
  assert.equal(given(walls(), 3, 'truncate'), ALLOW);
  assert.equal(given(walls(), 2, 'truncate'), EPERM);
  assert.equal(given(walls(), 2, 'openat', 0, 0, 0o1000), EPERM);
  assert.equal(given(walls(), 2, 'openat', 0, 0, 0o1001), ALLOW);
  assert.equal(given(walls(), 2, 'openat2'), ENOSYS);
});

test('attributes of files are changed by what fetches packages, and by what puts them in their place and starts nothing, alone; what copies files is told so of modes and times', () => {
  const [modes, others] = [judgedCalls.MODES_AND_TIMES.split(' '), judgedCalls.OTHER_ATTRIBUTES.split(' ')];
  for (const name of [...modes, ...others]) {
    assert.equal(given(walls(), 7, name), modes.includes(name) ? refuseWith(0) : EPERM, name);
    assert.equal(given(walls({ calls: 'sandbox' }), 7, name), EPERM, name);
    assert.equal(given(walls({ calls: 'installer', connect: 'any' }), 7, name), ALLOW, name);
    assert.equal(given(walls({ calls: 'installer' }), 7, name), ALLOW, name);
    assert.equal(given(walls({ calls: 'installer', processes: true }), 7, name), refuseWith(0), name);
  }
});
