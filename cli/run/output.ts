/** Where results go. */
import { type FileHandle, open } from 'node:fs/promises';
import { usageFailure } from '../lib/exit.ts';

/** A run that cannot go on; what was done of it stands. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped';
}

export interface Kept {
  /** Files that are whole, where the output consists of several. */
  readonly parts: number;
  /** Bytes of the output, or of the file that comes after these. */
  readonly output: number;
}

export interface Output {
  /** Adds a result: the line of the answer, and what stands beside it. @throws UnfitResult. */
  add(answer: string, beside: readonly unknown[]): void;
  /** Fields of results that have no place in it. */
  readonly lost: ReadonlySet<string>;
  /** Takes what was added out of memory, where there is much of it. */
  drain(): Promise<void>;
  /** Puts all on the disk; gives how much there is. */
  keep(): Promise<Kept>;
  /** What was kept before, and was replaced since, may go: nobody goes on from there any more. */
  settled(): Promise<void>;
  /** Makes the output whole, of what was kept. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** A result that the form of the output cannot hold: the failure of its record. */
export class UnfitResult extends Error {}

/** Bytes, in order, of a file or a pipe. */
export interface ByteTarget {
  write(bytes: string | Uint8Array): Promise<void>;
  /** How much there is, once it is on the disk. */
  keep(): Promise<Kept>;
  close(): Promise<void>;
}

/** A file from a place on: what came after it, such as a line that is torn, is dropped. */
export async function openFileTarget(path: string, from: number): Promise<ByteTarget> {
  const file = await open(path, from === 0 ? 'w' : 'r+').catch((thrown: unknown) => {
    throw explain(thrown, path);
  });
  const { size } = await file.stat();
  if (size < from) {
    await file.close();
    throw usageFailure(`${path} is shorter than the run before left it: say --force to begin again`);
  }
  await file.truncate(from);
  return new FileTarget(path, file, from);
}

class FileTarget implements ByteTarget {
  readonly #path: string;
  readonly #file: FileHandle;
  #at: number;

  constructor(path: string, file: FileHandle, at: number) {
    this.#path = path;
    this.#file = file;
    this.#at = at;
  }

  async write(bytes: string | Uint8Array): Promise<void> {
    const buffer = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    try {
      for (let from = 0; from < buffer.length;) {
        const { bytesWritten } = await this.#file.write(buffer, from, buffer.length - from, this.#at + from);
        from += bytesWritten;
      }
    } catch (thrown) {
      throw explain(thrown, this.#path);
    }
    this.#at += buffer.length;
  }

  async keep(): Promise<Kept> {
    try {
      await this.#file.sync();
    } catch (thrown) {
      throw explain(thrown, this.#path);
    }
    return { parts: 0, output: this.#at };
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** What is no file, such as a pipe: nothing there can be taken back. */
export function streamTarget(stream: NodeJS.WritableStream, name: string): ByteTarget {
  let failure: unknown;
  let at = 0;
  stream.on('error', (thrown: unknown) => (failure ??= thrown));
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(explain(failure, name));
        at += bytes.length;
        // Its callback comes once the bytes are taken: nothing is held here in the meantime.
        stream.write(bytes, (thrown) => {
          if (thrown === undefined || thrown === null) resolve();
          else reject(explain(thrown, name));
        });
      }),
    keep: () => Promise.resolve({ parts: 0, output: at }),
    // The listener stays: an error of what was written may come late.
    close: () => Promise.resolve(),
  };
}

const WORDS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EFBIG: 'the file has become as large as files may be',
  EROFS: 'the disk is read-only',
  EACCES: 'it may not be written',
  EPERM: 'it may not be written',
  EISDIR: 'it is a folder',
  ENOENT: 'its folder is not there',
  EIO: 'the disk fails',
  EPIPE: 'nobody reads it any more',
};

/** What a person needs to know of an error of the disk. */
export function explain(thrown: unknown, path: string): Error {
  if (thrown instanceof RunStopped) return thrown;
  const { code, message } = thrown as NodeJS.ErrnoException;
  return new RunStopped(`${path} cannot be written: ${WORDS[code ?? ''] ?? message}`, { cause: thrown });
}
