/** The audit in files, for verification; nothing is changed, and an activator may go on writing. */
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isMissing } from '../disk-errors.ts';
import type { AuditToVerify, KnownWriters, StoredRecord } from '../verify-audit.ts';
import { readChainFile } from './audit-chain-file.ts';
import { auditFileNames, recordIn } from './audit-lines.ts';

export class AuditFilesToVerify implements AuditToVerify {
  readonly #folder: string;
  broken = 0;
  /** A record is written before it is noted that it was. */
  readonly ahead = 1;

  constructor(folder: string) {
    this.#folder = folder;
  }

  known(): Promise<KnownWriters> {
    const chain = readChainFile(this.#folder);
    const writers = new Map(chain === undefined ? [] : [[chain.writer, { end: chain.end, trimmed: chain.trimmed }]]);
    return Promise.resolve({ writers, from: chain?.from });
  }

  async *records(): AsyncGenerator<StoredRecord> {
    for (const name of auditFileNames(await readdir(this.#folder))) {
      try {
        yield* this.#recordsOf(join(this.#folder, name));
      } catch (thrown) {
        // The oldest may go meanwhile.
        if (!isMissing(thrown)) throw thrown;
      }
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  async *#recordsOf(path: string): AsyncGenerator<StoredRecord> {
    for await (const text of createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity })) {
      const record = recordIn(text);
      if (record !== undefined) yield { id: record.id, text };
      else if (text !== '') this.broken++;
    }
  }
}
