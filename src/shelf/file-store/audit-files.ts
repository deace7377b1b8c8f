/**
 * The audit in files of JSON lines, of which the oldest goes when all together are larger than they may be. A file is
 * named by the id of its first record.
 */
import { appendFileSync, closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startRefused } from '../../lib/errors.ts';
import { fits } from '../audit-store.ts';
import type { AuditPage, AuditQuery, AuditRecord, AuditStore, KeptAuditRecord } from '../audit-store.ts';
import { isMissing, whyUnusable } from '../disk-errors.ts';

/** Bytes of a file: few enough to be read without keeping calls waiting. */
const MAX_FILE_BYTES = 2 ** 20;
/** Files that there are at least, so that little is lost with the oldest. */
const MIN_FILES = 4;
const NAME = /^\d{15}\.jsonl$/;

interface AuditFile {
  readonly name: string;
  size: number;
}

export class AuditFiles implements AuditStore {
  readonly #folder: string;
  readonly #most: number;
  readonly #largest: number;
  /** The oldest first. */
  readonly #files: AuditFile[];
  #next = 1;
  #descriptor: number | undefined;
  /** The last file ends in the midst of a line, as when the power failed or the disk was full. */
  #isTorn = false;

  /** `most`: bytes of all files together. @throws startRefused when the folder cannot be made or read. */
  constructor(folder: string, most: number) {
    this.#folder = folder;
    this.#most = most;
    this.#largest = Math.min(MAX_FILE_BYTES, Math.floor(most / MIN_FILES));
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      this.#files = readdirSync(folder)
        .filter((name) => NAME.test(name))
        .sort()
        .map((name) => ({ name, size: statSync(join(folder, name)).size }));
      this.#resume();
    } catch (thrown) {
      throw startRefused(`--state: the audit cannot be kept in ${folder}: ${whyUnusable(thrown)}`, { cause: thrown });
    }
  }

  append(record: AuditRecord): void {
    const id = this.#next;
    const kept: KeptAuditRecord = { id, time: new Date().toISOString(), ...record };
    const line = `${JSON.stringify(kept)}\n`;
    const file = this.#fileFor(id, Buffer.byteLength(line));
    this.#descriptor ??= openSync(join(this.#folder, file.name), 'a', 0o600);
    const text = this.#isTorn ? `\n${line}` : line;
    this.#isTorn = true;
    appendFileSync(this.#descriptor, text);
    this.#isTorn = false;
    file.size += Buffer.byteLength(text);
    this.#next = id + 1;
    this.#removeOldest();
  }

  async read(query: AuditQuery): Promise<AuditPage> {
    const records: KeptAuditRecord[] = [];
    for (const { name } of this.#files.toReversed()) {
      if (query.after !== undefined && firstIdOf(name) >= query.after) continue;
      // It may be removed meanwhile.
      const text = await readFile(join(this.#folder, name), 'utf8').catch(emptyWhereMissing);
      for (const record of linesOf(text).reverse()) {
        if (query.since !== undefined && Date.parse(record.time) < query.since) return { records, more: false };
        if (!fits(record, query)) continue;
        if (records.length === query.limit) return { records, more: true };
        records.push(record);
      }
    }
    return { records, more: false };
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Goes on where an earlier start ended. */
  #resume(): void {
    const last = this.#files.at(-1);
    if (last === undefined) return;
    const text = readFileSync(join(this.#folder, last.name), 'utf8');
    this.#isTorn = text !== '' && !text.endsWith('\n');
    this.#next = (linesOf(text).at(-1)?.id ?? firstIdOf(last.name)) + 1;
  }

  #fileFor(id: number, size: number): AuditFile {
    const last = this.#files.at(-1);
    if (last !== undefined && (last.size === 0 || last.size + size <= this.#largest)) return last;
    this[Symbol.dispose]();
    this.#isTorn = false;
    const file = { name: `${String(id).padStart(15, '0')}.jsonl`, size: 0 };
    this.#files.push(file);
    return file;
  }

  #removeOldest(): void {
    let total = this.#files.reduce((sum, { size }) => sum + size, 0);
    while (total > this.#most && this.#files.length > 1) {
      const oldest = this.#files.shift();
      if (oldest === undefined) return;
      total -= oldest.size;
      rmSync(join(this.#folder, oldest.name), { force: true });
    }
  }
}

const firstIdOf = (name: string): number => Number.parseInt(name, 10);

function emptyWhereMissing(thrown: unknown): string {
  if (isMissing(thrown)) return '';
  throw thrown;
}

/** A line that broke off, as when the power fails, is no record, nor is what somebody wrote by hand. */
function linesOf(text: string): KeptAuditRecord[] {
  return text.split('\n').flatMap((line) => {
    try {
      const value = line === '' ? undefined : (JSON.parse(line) as unknown);
      return isRecord(value) ? [value] : [];
    } catch {
      return [];
    }
  });
}

function isRecord(value: unknown): value is KeptAuditRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { id, time, who, subject } = value as Partial<Record<keyof KeptAuditRecord, unknown>>;
  return Number.isSafeInteger(id) && [time, who, subject].every((field) => typeof field === 'string');
}
