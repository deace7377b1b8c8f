/** The answer of a batch on its way to the client; what a client does not read yet goes to disk, and then waits. */
import type { ServerResponse } from 'node:http';
import type { Spool } from '../../../execution/batch/spool.ts';

/** Bytes for a client that are kept in memory. */
const MEMORY_BYTES = 256 * 1024;
/** Bytes that are read from the disk at a time: a client that takes so much makes progress. */
const READ_BYTES = 64 * 1024;

const NOT_TAKEN = 'the connection was closed before the answer was taken';

export class BatchAnswer {
  readonly #response: ServerResponse;
  readonly #spool: Spool;
  #isPumping = false;
  #waiting: (() => void)[] = [];

  /** `onProgress`: the client took something. */
  constructor(response: ServerResponse, spool: Spool, onProgress: () => void) {
    this.#response = response;
    this.#spool = spool;
    response.on('drain', () => {
      onProgress();
      void this.#pump();
    });
    response.on('close', () => this.#tell());
  }

  /** `lines`: a character for each byte. Undefined where more may follow at once; else it resolves when there is room. */
  write(lines: string): Promise<void> | undefined {
    if (this.#response.closed) return undefined;
    if (!this.#mayWrite) return this.#keep(Buffer.from(lines, 'latin1'));
    this.#response.write(lines, 'latin1');
    return undefined;
  }

  /** Ends the answer and resolves when the client has been given all. @throws where its connection is gone before. */
  async end(trailers: [string, string][]): Promise<void> {
    const response = this.#response;
    while ((this.#spool.size > 0 || this.#isPumping) && !response.closed) await this.#nextStep();
    if (response.closed) throw new Error(NOT_TAKEN);
    if (response.chunkedEncoding) response.addTrailers(trailers);
    response.once('finish', () => this.#tell());
    response.end();
    while (!response.writableFinished && !response.closed) await this.#nextStep();
    if (!response.writableFinished) throw new Error(NOT_TAKEN);
  }

  get #mayWrite(): boolean {
    return this.#spool.size === 0 && !this.#isPumping && this.#response.writableLength < MEMORY_BYTES;
  }

  async #keep(bytes: Buffer): Promise<void> {
    const response = this.#response;
    while (!response.closed) {
      if (this.#mayWrite) {
        response.write(bytes);
        return;
      }
      const isKept = await this.#spool.add(bytes);
      // The client may have taken all before while these were on their way to the disk.
      if (!response.writableNeedDrain) void this.#pump();
      if (isKept) return;
      if (!this.#mayWrite && !response.closed) await this.#nextStep();
    }
  }

  /** Gives the client what is on disk, as long as it takes it. */
  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (this.#spool.size > 0 && !this.#response.closed && !this.#response.writableNeedDrain)
        this.#response.write(await this.#spool.take(READ_BYTES));
    } catch {
      // What cannot be read again is lost: the answer breaks off, which its client sees.
      this.#response.destroy();
    } finally {
      this.#isPumping = false;
      this.#tell();
    }
  }

  #nextStep(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #tell(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
