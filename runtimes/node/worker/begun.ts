/** The number of the last call that began, in a file that what has started this worker reads also when the worker is gone. */
import { closeSync, writeSync } from 'node:fs';
import type { Native } from './native.ts';

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
