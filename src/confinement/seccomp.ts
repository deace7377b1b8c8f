/** The filters of system calls: what is refused beside what Landlock refuses, or in its place where the kernel lacks that. */
import { ALLOW, refuseWith, writeFilter } from './bpf.ts';
import type { Filter, Rule } from './bpf.ts';
import {
  DATAGRAMS,
  ENOSYS,
  EPERM,
  INTERNET,
  NEVER,
  NO_FAST_OPEN,
  NO_PROCESSES,
  NO_SIGNALS,
  NO_TRUNCATION,
  MODES_AND_TIMES,
  OTHER_ATTRIBUTES,
  PAIRS,
} from './judged-calls.ts';
import type { Allowed, Judged } from './judged-calls.ts';
import { ALLOWED_IN_SANDBOX } from './sandbox-calls.ts';
import { LAST_KNOWN, systemCalls } from './system-calls.ts';
import type { Walls } from './walls.ts';

/** ABI of Landlock from which it judges … */
const TRUNCATION = 3;
const SCOPES = 6;

/**
 * The filter with which a program starts; undefined for an architecture that has none here.
 * @param landlock its ABI: what it does not judge is judged here, as far as a filter can.
 */
export function startFilter(walls: Walls, landlock: number, arch: string = process.arch): Filter | undefined {
  const judged = [
    ...NEVER,
    ...attributesOf(walls),
    ...(walls.processes ? [] : NO_PROCESSES),
    ...(landlock < SCOPES && !walls.processes ? NO_SIGNALS : []),
    ...(landlock < TRUNCATION ? NO_TRUNCATION : []),
    ...NO_FAST_OPEN,
    // What listens is the service alone.
    { calls: 'bind listen accept accept4', errno: EPERM },
  ];
  const sockets = [
    ...(walls.calls === 'sandbox' ? [] : PAIRS),
    ...(hasNetwork(walls) ? INTERNET : []),
    ...(walls.connect === 'any' ? DATAGRAMS : []),
  ];
  const refused = [
    { calls: 'socket socketpair', errno: EPERM },
    ...(hasNetwork(walls) ? [] : [{ calls: 'connect', errno: EPERM }]),
  ];
  const numbers = systemCalls(arch);
  if (numbers === undefined) return undefined;
  const rules = [...toRules(numbers, judged), ...allow(numbers, sockets), ...toRules(numbers, refused)];
  return writeFilter({ arch, rules, otherwise: ALLOW, unknown });
}

/** The filter that a javascript sandbox lays on all its threads before any code of others. */
export function sandboxFilter(arch: string = process.arch): Filter | undefined {
  const numbers = systemCalls(arch);
  if (numbers === undefined) return undefined;
  const rules = [...allow(numbers, ALLOWED_IN_SANDBOX), ...toRules(numbers, [{ calls: 'clone3', errno: ENOSYS }])];
  return writeFilter({ arch, rules, otherwise: refuseWith(EPERM), unknown });
}

const hasNetwork = ({ connect }: Walls): boolean => connect === 'any' || connect.length > 0;

/**
 * What fetches packages, and what puts them in their place and starts nothing, runs no code of them and sets modes. What runs code of others copies files in its own folder,
 * with their modes and times, which would fail: it is told that it did, since 0 looks like success.
 */
function attributesOf({ calls, connect, processes }: Walls): Judged[] {
  if (calls === 'installer' && (connect === 'any' || !processes)) return [];
  return [
    { calls: MODES_AND_TIMES, errno: calls === 'sandbox' ? EPERM : 0 },
    { calls: OTHER_ATTRIBUTES, errno: calls === 'installer' ? 0 : EPERM },
  ];
}

/** Libraries do without what a kernel does not have. */
const unknown = { from: LAST_KNOWN + 1, action: refuseWith(ENOSYS) };

type Numbers = ReadonlyMap<string, number>;

const toRules = (numbers: Numbers, judged: readonly Judged[]): Rule[] =>
  judged.flatMap(({ calls, when, errno }) =>
    numbersOf(numbers, calls).map((call) => ({ call, when: when ?? [], action: refuseWith(errno) })),
  );

const allow = (numbers: Numbers, allowed: readonly Allowed[]): Rule[] =>
  allowed.flatMap(({ calls, when }) => numbersOf(numbers, calls).map((call) => ({ call, when, action: ALLOW })));

const numbersOf = (numbers: Numbers, calls: string): number[] =>
  calls.split(' ').flatMap((name) => numbers.get(name) ?? []);
