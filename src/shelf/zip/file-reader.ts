import type { FileHandle } from 'node:fs/promises';
import { RandomAccessReader } from 'yauzl';

const WINDOW_BYTES = 64 * 1024;

/**
 * Lets yauzl read an open file. The headers of an archive are many and small, and lie close together: they are
 * served out of one window of the file. A position that a header names is checked before it is used.
 */
export class FileReader extends RandomAccessReader {
  readonly #handle: FileHandle;
  readonly #size: number;
  #window = Buffer.alloc(0);
  #start = 0;

  constructor(handle: FileHandle, size: number) {
    super();
    this.#handle = handle;
    this.#size = size;
  }

  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    this.bytes(position, length).then(
      (found) => {
        found.copy(target, offset);
        callback(null);
      },
      (error: unknown) => callback(error as Error),
    );
  }

  /** @throws Error when the file has no such bytes. */
  async bytes(position: number, length: number): Promise<Buffer> {
    if (!(position >= 0 && position + length <= this.#size)) throw new Error('a record lies outside the file');
    if (position < this.#start || position + length > this.#start + this.#window.length) {
      const window = Buffer.alloc(Math.min(Math.max(WINDOW_BYTES, length), this.#size - position));
      const { bytesRead } = await this.#handle.read(window, 0, window.length, position);
      if (bytesRead < length) throw new Error('the file became shorter');
      this.#window = window.subarray(0, bytesRead);
      this.#start = position;
    }
    return this.#window.subarray(position - this.#start, position - this.#start + length);
  }
}
