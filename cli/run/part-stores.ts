/** Parts of a Parquet file that is written: in the folder of the run, or straight to a pipe. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../src/lib/errors.ts';
import { usageFailure } from '../lib/exit.ts';
import type { RunState } from './journal.ts';
import { openFileTarget } from './output.ts';
import type { ByteTarget, Kept } from './output.ts';
import type { ParquetColumn } from './parquet-columns.ts';
import type { PartStore } from './parquet-output.ts';
import { PartJoiner } from './parquet-parts.ts';
import type { RunFiles } from './run-files.ts';

export class PartFolder implements PartStore {
  readonly #folder: string;
  readonly #results: string;
  #parts: number;
  #begun: ByteTarget | undefined;
  /** Bytes of what is begun. */
  #at = 0;
  /** Text of parts that are whole, of which the journal may not know yet. */
  readonly #needless: string[] = [];

  constructor({ folder, results }: RunFiles, parts: number) {
    this.#folder = folder;
    this.#results = results;
    this.#parts = parts;
  }

  /** Goes on, and gives the text of the part that was begun. @throws CommandFailure where that is not there. */
  async goOn({ output }: Pick<RunState, 'output'>): Promise<string> {
    if (output === 0) return '';
    this.#begun = await openFileTarget(this.#textPath, output);
    this.#at = output;
    return readFile(this.#textPath, 'utf8');
  }

  async spill(text: string): Promise<void> {
    this.#begun ??= await openFileTarget(this.#textPath, 0);
    await this.#begun.write(text);
  }

  async write(part: Uint8Array): Promise<void> {
    const target = await openFileTarget(this.#partPath(this.#parts), 0);
    try {
      await target.write(part);
      await target.keep();
    } finally {
      await target.close();
    }
    if (this.#begun !== undefined) this.#needless.push(this.#textPath);
    await this.close();
    this.#at = 0;
    this.#parts++;
  }

  async keep(): Promise<Kept> {
    if (this.#begun !== undefined) this.#at = (await this.#begun.keep()).output;
    return { parts: this.#parts, output: this.#at };
  }

  async settled(): Promise<void> {
    for (const path of this.#needless.splice(0)) await rm(path, { force: true });
  }

  async finish(columns: readonly ParquetColumn[]): Promise<void> {
    const target = await openFileTarget(this.#results, 0);
    try {
      const joiner = new PartJoiner(target, columns);
      for (let i = 0; i < this.#parts; i++) await joiner.add(await this.#read(i));
      await joiner.finish();
      await target.keep();
    } finally {
      await target.close();
    }
  }

  async close(): Promise<void> {
    await this.#begun?.close();
    this.#begun = undefined;
  }

  async #read(part: number): Promise<Uint8Array> {
    const path = this.#partPath(part);
    try {
      return await readFile(path);
    } catch (thrown) {
      throw usageFailure(`${path} cannot be read: ${messageOf(thrown)}: say --force to begin again`);
    }
  }

  get #textPath(): string {
    return join(this.#folder, `part-${this.#parts}.begun`);
  }

  #partPath(part: number): string {
    return join(this.#folder, `part-${part}.parquet`);
  }
}

/** Each part as soon as it is whole. */
export class PartPipe implements PartStore {
  readonly #target: ByteTarget;
  readonly #joiner: PartJoiner;

  constructor(target: ByteTarget, columns: readonly ParquetColumn[]) {
    this.#target = target;
    this.#joiner = new PartJoiner(target, columns);
  }

  spill(): Promise<void> {
    return Promise.resolve();
  }

  write(part: Uint8Array): Promise<void> {
    return this.#joiner.add(part);
  }

  keep(): Promise<Kept> {
    return this.#target.keep();
  }

  settled(): Promise<void> {
    return Promise.resolve();
  }

  finish(): Promise<void> {
    return this.#joiner.finish();
  }

  close(): Promise<void> {
    return this.#target.close();
  }
}
