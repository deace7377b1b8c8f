/** Runs a filter as the kernel would, for one system call. */
import type { Filter, Placeholder } from '../../../src/confinement/bpf.ts';

export interface SystemCall {
  readonly arch: number;
  readonly number: number;
  readonly args: readonly bigint[];
}

/** @throws Error for an instruction that the kernel refuses. */
export function interpret(filter: Filter, call: SystemCall, known: Partial<Record<Placeholder, number>> = {}): number {
  const code = Buffer.from(filter.code, 'base64');
  for (const [at, what] of filter.placeholders) code.writeUInt32LE(known[what] ?? 0, at * 8 + 4);
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number, 0);
  data.writeUInt32LE(call.arch, 4);
  call.args.forEach((value, index) => data.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + 8 * index));
  let a = 0;
  for (let at = 0; at < code.length;) {
    const [operation, yes, no, k] = [
      code.readUInt16LE(at),
      code.readUInt8(at + 2),
      code.readUInt8(at + 3),
      code.readUInt32LE(at + 4),
    ];
    at += 8;
    if (operation === 0x20) a = data.readUInt32LE(k);
    else if (operation === 0x54) a = (a & k) >>> 0;
    else if (operation === 0x15) at += 8 * (a === k ? yes : no);
    else if (operation === 0x35) at += 8 * (a >= k ? yes : no);
    else if (operation === 0x06) return k;
    else throw new Error(`no such instruction: ${operation}`);
  }
  throw new Error('the filter ends without an answer');
}
