/** Writes filters of system calls, as programs of classic BPF that the kernel runs before each call. */
import { endianness } from 'node:os';

/** A test of the lower 32 bits of one argument, as the kernel reads whole numbers and flags. */
export interface Test {
  /** From 0. */
  readonly argument: number;
  /** Which bits count; all without it. */
  readonly mask?: number;
  readonly is: number | Placeholder;
  /** Where it must be something else. */
  readonly not?: true;
}

/** Known to the launcher alone: the id of the process, and three secret numbers by which it may start the program. */
export type Placeholder = 'pid' | 'key0' | 'key1' | 'key2';

export interface Rule {
  readonly call: number;
  /** All must hold. */
  readonly when: readonly Test[];
  readonly action: number;
}

export interface Filter {
  /** Instructions of 8 bytes each, in base64. */
  readonly code: string;
  /** Instructions whose number the launcher fills in. */
  readonly placeholders: readonly (readonly [instruction: number, what: Placeholder])[];
}

export const ALLOW = 0x7fff0000;
export const KILL_PROCESS = 0x80000000;
/** The call does nothing and gives this number of an error; 0 looks like success. */
export const refuseWith = (errno: number): number => 0x00050000 | errno;

const AUDIT_ARCH: Partial<Record<string, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** Calls of x86-64 with pointers of 32 bits, which have numbers of their own. */
const X32_BIT = 0x40000000;

// Offsets into `struct seccomp_data`.
const NUMBER = 0;
const ARCH = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

const LOAD = 0x20;
const AND = 0x54;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;

interface Instruction {
  readonly code: number;
  readonly yes: number;
  readonly no: number;
  readonly k: number | Placeholder;
}

const load = (k: number): Instruction => ({ code: LOAD, yes: 0, no: 0, k });
const give = (k: number): Instruction => ({ code: RETURN, yes: 0, no: 0, k });

export interface FilterPlan {
  readonly arch: string;
  /** The first that holds counts. */
  readonly rules: readonly Rule[];
  /** The result of a call for which no rule holds. */
  readonly otherwise: number;
  /** Calls from this number on, which are not known here. */
  readonly unknown: { readonly from: number; readonly action: number };
}

/** @throws Error for an architecture that it does not know. */
export function writeFilter({ arch, rules, otherwise, unknown }: FilterPlan): Filter {
  const audit = AUDIT_ARCH[arch];
  if (audit === undefined) throw new Error(`no filter of system calls for ${arch}`);
  const byCall = new Map<number, Rule[]>();
  for (const rule of rules) byCall.set(rule.call, [...(byCall.get(rule.call) ?? []), rule]);
  const program: Instruction[] = [
    load(ARCH),
    { code: JUMP_IF_EQUAL, yes: 1, no: 0, k: audit },
    give(KILL_PROCESS),
    load(NUMBER),
    { code: JUMP_IF_AT_LEAST, yes: 0, no: 1, k: X32_BIT },
    give(KILL_PROCESS),
    { code: JUMP_IF_AT_LEAST, yes: 0, no: 1, k: unknown.from },
    give(unknown.action),
  ];
  for (const [call, ofCall] of byCall) {
    const block = blockOf(ofCall, otherwise);
    program.push({ code: JUMP_IF_EQUAL, yes: 0, no: within(block.length), k: call }, ...block);
  }
  program.push(give(otherwise));
  return bytesOf(program);
}

/** What follows once the number of the call is the right one; it always returns. */
function blockOf(rules: readonly Rule[], otherwise: number): Instruction[] {
  const block: Instruction[] = [];
  for (const { when, action } of rules) {
    const tests = when.map(testOf);
    let left = tests.flat().length;
    for (const test of tests) {
      left -= test.length;
      // Where it does not hold, behind the return of this rule.
      const skip = within(left + 1);
      block.push(
        ...test.map((each) =>
          each.code !== JUMP_IF_EQUAL ? each : each.yes === 0 ? { ...each, no: skip } : { ...each, yes: skip },
        ),
      );
    }
    block.push(give(action));
    if (when.length === 0) return block;
  }
  block.push(give(otherwise));
  return block;
}

/** Its jump with `yes` 1 leaves where the numbers are equal. */
function testOf({ argument, mask, is, not }: Test): Instruction[] {
  const masked: Instruction[] = mask === undefined ? [] : [{ code: AND, yes: 0, no: 0, k: mask >>> 0 }];
  return [load(argumentAt(argument)), ...masked, { code: JUMP_IF_EQUAL, yes: not === true ? 1 : 0, no: 0, k: is }];
}

function within(distance: number): number {
  if (distance > 255) throw new Error('too many rules for one system call');
  return distance;
}

function bytesOf(program: readonly Instruction[]): Filter {
  if (endianness() !== 'LE') throw new Error('no filter of system calls for this order of bytes');
  const bytes = Buffer.alloc(program.length * 8);
  const placeholders: [number, Placeholder][] = [];
  program.forEach(({ code, yes, no, k }, at) => {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(yes, at * 8 + 2);
    bytes.writeUInt8(no, at * 8 + 3);
    if (typeof k === 'number') bytes.writeUInt32LE(k >>> 0, at * 8 + 4);
    else placeholders.push([at, k]);
  });
  return { code: bytes.toString('base64'), placeholders };
}
