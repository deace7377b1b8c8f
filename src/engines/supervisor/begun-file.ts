/** A number that a process shares with the activator by a file, which tells it also when the process is gone. */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** As much as a worker maps into its memory, with room for its own use. */
const BYTES = 16;
/** Of the number, which is below 2^48. */
const NUMBER_BYTES = 6;

/** The number of the last call that a worker began. */
export class BegunFile {
  readonly descriptor: number;

  /** The file has no name afterwards. */
  constructor(folder: string) {
    const path = join(folder, `begun-${randomUUID()}`);
    this.descriptor = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    // On a disk that is full this fails, and not what the worker writes there later.
    writeSync(this.descriptor, Buffer.alloc(BYTES));
  }

  /** Once: gives the number. */
  close(): number {
    const bytes = Buffer.alloc(BYTES);
    readSync(this.descriptor, bytes, 0, BYTES, 0);
    closeSync(this.descriptor);
    return bytes.readUIntLE(0, NUMBER_BYTES);
  }
}
