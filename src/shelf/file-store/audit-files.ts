/**
 * The audit in files of JSON lines, of which the oldest goes when all together are larger than they may be. A file is
 * named by the id of its first record.
 */
import { appendFileSync, closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startRefused } from '../../lib/errors.ts';
import { BEGIN, chained, chainOf, type ChainEnd } from '../audit-chain.ts';
import { fits } from '../audit-store.ts';
import type { AuditFollower, AuditPage, AuditQuery, AuditRecord, AuditStore, KeptAuditRecord } from '../audit-store.ts';
import { isFull, isMissing, whyUnusable } from '../disk-errors.ts';
import { readChainFile, writeChainFile, type ChainFile } from './audit-chain-file.ts';
import { auditFileNames, firstIdOf, recordIn } from './audit-lines.ts';

/** Bytes of a file: few enough to be read without keeping calls waiting. */
const MAX_FILE_BYTES = 2 ** 20;
/** Files that there are at least, so that little is lost with the oldest. */
const MIN_FILES = 4;

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
  #chain: ChainFile;

  /** `most`: bytes of all files together. @throws startRefused when the folder cannot be made or read. */
  constructor(folder: string, most: number) {
    this.#folder = folder;
    this.#most = most;
    this.#largest = Math.min(MAX_FILE_BYTES, Math.floor(most / MIN_FILES));
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      this.#files = auditFileNames(readdirSync(folder)).map((name) => ({
        name,
        size: statSync(join(folder, name)).size,
      }));
      this.#resume();
      this.#chain = this.#resumeChain();
    } catch (thrown) {
      throw startRefused(`--state: the audit cannot be kept in ${folder}: ${whyUnusable(thrown)}`, { cause: thrown });
    }
  }

  append(record: AuditRecord): void {
    const id = this.#next;
    const kept: KeptAuditRecord = { id, time: new Date().toISOString(), ...record };
    const chain = this.#chain;
    const { text: json, end } = chained(kept, chain.writer, chain.end);
    const line = `${json}\n`;
    const file = this.#fileFor(id, Buffer.byteLength(line));
    // A record whose writer nobody knows would look like one that was put in.
    if (chain.end.number === 0) this.#keepChain();
    this.#descriptor ??= openSync(join(this.#folder, file.name), 'a', 0o600);
    const text = this.#isTorn ? `\n${line}` : line;
    this.#isTorn = true;
    appendFileSync(this.#descriptor, text);
    this.#isTorn = false;
    file.size += Buffer.byteLength(text);
    this.#next = id + 1;
    this.#chain = { ...chain, end };
    this.#keepChain();
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
        if (query.newerThan !== undefined && record.id <= query.newerThan) return { records, more: false };
        if (!fits(record, query)) continue;
        if (records.length === query.limit) return { records, more: true };
        records.push(record);
      }
    }
    return { records, more: false };
  }

  follow(): Promise<AuditFollower> {
    let next = this.#next;
    return Promise.resolve({
      next: async () => {
        if (next === this.#next) return [];
        const [newerThan, after] = [next - 1, this.#next];
        next = after;
        const { records } = await this.read({ limit: after - newerThan, after, newerThan });
        return records.toReversed();
      },
    });
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

  /** The chain goes on where the records end, or where it is known that they ended: what is missing then stays so. */
  #resumeChain(): ChainFile {
    const known = readChainFile(this.#folder);
    if (known === undefined) {
      const from = this.#firstChained() ?? this.#next;
      return { from, writer: crypto.randomUUID(), end: BEGIN, trimmed: BEGIN };
    }
    for (const { name } of this.#files.toReversed()) {
      const last = this.#lastOf(name, known.writer);
      if (last !== undefined) return last.number > known.end.number ? { ...known, end: last } : known;
    }
    return known;
  }

  #firstChained(): number | undefined {
    for (const { name } of this.#files) {
      const lines = readFileSync(join(this.#folder, name), 'utf8').split('\n');
      const first = lines.find((line) => chainOf(line) !== undefined);
      if (first !== undefined) return recordIn(first)?.id ?? firstIdOf(name);
    }
    return undefined;
  }

  /** Where a writer is at the end of a file. */
  #lastOf(name: string, writer: string): ChainEnd | undefined {
    const lines = readFileSync(join(this.#folder, name), 'utf8').split('\n').reverse();
    for (const line of lines) {
      const found = chainOf(line);
      if (found?.writer === writer && found.isWhole) return { number: found.number, hash: found.hash };
    }
    return undefined;
  }

  /** On a full disk the next record brings it up to date. */
  #keepChain(): void {
    try {
      writeChainFile(this.#folder, this.#chain);
    } catch (thrown) {
      if (!isFull(thrown)) throw thrown;
    }
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
      const last = this.#lastOf(oldest.name, this.#chain.writer);
      if (last !== undefined) this.#chain = { ...this.#chain, trimmed: last };
      // First it is known that they go, so that they are never taken for removed by somebody.
      this.#keepChain();
      rmSync(join(this.#folder, oldest.name), { force: true });
    }
  }
}

function emptyWhereMissing(thrown: unknown): string {
  if (isMissing(thrown)) return '';
  throw thrown;
}

const linesOf = (text: string): KeptAuditRecord[] => text.split('\n').flatMap((line) => recordIn(line) ?? []);
