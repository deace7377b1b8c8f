import fs from 'node:fs';
import { closeSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** The native part of koffi, all that is needed of it: its JavaScript takes three times as long to load. */
export interface Native {
  load(path: null): { func(signature: string): (...values: unknown[]) => unknown };
  view(address: unknown, bytes: number): ArrayBuffer;
}

/** @param path nothing where there are no walls. */
export function loadNative(path: string | undefined): Native | undefined {
  if (path === undefined) return undefined;
  const loaded = { exports: {} as Native };
  process.dlopen(loaded, path);
  return loaded.exports;
}

const DESCRIPTOR = 5;
const BYTES = 16;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;

/** @param native without it each number is written, which takes a thousand times as long as to put it into memory. */
export function begunFile(native: Native | undefined): (call: number) => void {
  if (native === undefined) {
    const number = new Int32Array(1);
    return (call) => {
      number[0] = call;
      writeSync(DESCRIPTOR, number, 0, number.byteLength, 0);
    };
  }
  const mmap = native.load(null).func('void *mmap(void *, size_t, int, int, int, int64_t)');
  const address = mmap(null, BYTES, PROT_READ_WRITE, MAP_SHARED, DESCRIPTOR, 0);
  // The code could make the file grow by it.
  closeSync(DESCRIPTOR);
  const numbers = new Int32Array(native.view(address, BYTES));
  return (call) => {
    numbers[0] = call;
  };
}

const PR_SET_DUMPABLE = 4;

export function hide(native: Native): void {
  const prctl = native.load(null).func('int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)');
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) !== 0) throw new Error('the worker cannot hide itself from other processes');
}

/** The native way of `cpSync` makes files that nobody may read before their mode is changed; a filter has it take the other. */
export function copyWithoutModes(): void {
  const { cpSync } = fs;
  fs.cpSync = (from, to, options) => cpSync(from, to, { ...options, filter: options?.filter ?? (() => true) });
  syncBuiltinESMExports();
}
