/** Answers that nobody reads yet lie on disk, in a file without a name: what is left of it goes with its process. */
import { open, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

/** Bytes that all batches together may have on disk. */
export class SpoolRoom {
  readonly #most: number;
  #used = 0;

  constructor(most: number) {
    this.#most = most;
  }

  take(bytes: number): boolean {
    if (this.#used + bytes > this.#most) return false;
    this.#used += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#used -= bytes;
  }
}

/** Bytes in the order in which they came. */
export class Spool implements AsyncDisposable {
  readonly #folder: string;
  readonly #room: SpoolRoom;
  #file: FileHandle | undefined;
  #from = 0;
  #to = 0;
  /** Bytes of the file that count, also those that were taken out since it was empty the last time. */
  #taken = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(folder: string, room: SpoolRoom) {
    this.#folder = folder;
    this.#room = room;
  }

  get size(): number {
    return this.#to - this.#from;
  }

  /** False where there is no room, or the disk has none. */
  add(bytes: Buffer): Promise<boolean> {
    return this.#afterOthers(() => this.#add(bytes));
  }

  /** Takes out the first, so many bytes at most. */
  take(most: number): Promise<Buffer> {
    return this.#afterOthers(() => this.#take(most));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#afterOthers(async () => {
      this.#room.giveBack(this.#taken);
      this.#from = this.#to = this.#taken = 0;
      await this.#file?.close();
      this.#file = undefined;
    });
  }

  async #add(bytes: Buffer): Promise<boolean> {
    if (!this.#room.take(bytes.length)) return false;
    try {
      this.#file ??= await this.#open();
      await this.#file.appendFile(bytes);
    } catch {
      this.#room.giveBack(bytes.length);
      // A part of them may have been written: it is never read, and written over.
      await this.#file?.truncate(this.#to).catch(() => undefined);
      return false;
    }
    this.#taken += bytes.length;
    this.#to += bytes.length;
    return true;
  }

  async #take(most: number): Promise<Buffer> {
    if (this.#file === undefined) return Buffer.alloc(0);
    const bytes = Buffer.allocUnsafe(Math.min(most, this.size));
    const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, this.#from);
    if (bytesRead < bytes.length) throw new Error('answers that were put on disk are not there any more');
    this.#from += bytesRead;
    if (this.size === 0) await this.#clear();
    return bytes;
  }

  async #clear(): Promise<void> {
    await this.#file?.truncate(0);
    this.#room.giveBack(this.#taken);
    this.#from = this.#to = this.#taken = 0;
  }

  /** One step at a time: what is added must not fall to the clearing of what was taken. */
  #afterOthers<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#last.then(step);
    this.#last = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }

  async #open(): Promise<FileHandle> {
    const path = join(this.#folder, `answers-${randomUUID()}`);
    const file = await open(path, 'ax+', 0o600);
    await unlink(path);
    return file;
  }
}
