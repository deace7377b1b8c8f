/**
 * What earlier starts found out about packages: what is read of them, and which code was seen to load. A second start with
 * ten thousand knowledge objects then takes a moment. Nothing is lost without it.
 */
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import { koKey } from '../knowledge-object/id.ts';
import { inTurns } from '../lib/in-turns.ts';
import type { ShelfEntry } from '../shelf/shelf.ts';
import { decodeRecords, encodeRecord } from './known-file.ts';
import type { KnownRecord } from './known-file.ts';
import { encodeReading, KnownReading } from './known-reading.ts';
import type { PackageReading } from './loaded-ko.ts';

/** What the file holds. */
interface Kept {
  /** As they stand in the file: some are never asked for. */
  readonly readings: Map<string, Buffer>;
  readonly loads: Set<string>;
  /** How many stand in the file; undefined where nothing can be added to it. */
  readonly records: number | undefined;
}

/** More than shelves have; a service that runs for long sees many packages come and go. */
const MAX_PACKAGES = 100_000;
const NOTHING = Buffer.alloc(0);

export class KnownPackages {
  readonly #file: string | undefined;
  /** Of the service, since another one may parse differently. */
  readonly #version: string;
  readonly #most: number;
  readonly #kept: Kept;
  #records: number | undefined;
  /** What was used since the start: the rest belongs to packages that are gone. */
  readonly #used = { readings: new Set<string>(), loads: new Set<string>() };
  /** What is to be added to the file, by kind and key. */
  #added = new Map<string, KnownRecord>();
  #saved = Promise.resolve();

  private constructor(file: string | undefined, version: string, kept: Kept, most: number) {
    this.#file = file;
    this.#version = version;
    this.#most = most;
    this.#kept = kept;
    this.#records = kept.records;
  }

  /** Without a file nothing is kept. One that cannot be read is as good as none. `most`: what is remembered at most. */
  static async open(file: string | undefined, version: string, most = MAX_PACKAGES): Promise<KnownPackages> {
    return new KnownPackages(file, version, keptIn(await bytesOf(file), version), most);
  }

  /** What an earlier start read of the package of an entry. */
  reading(entry: Pick<ShelfEntry, 'id' | 'digest'>): KnownReading | undefined {
    const key = keyOf(entry);
    const bytes = this.#kept.readings.get(key);
    if (bytes === undefined) return undefined;
    this.#use('reading', key);
    return new KnownReading(bytes);
  }

  /** `isStored`: as `encodeReading` takes it. */
  rememberReading(entry: Pick<ShelfEntry, 'id' | 'digest'>, reading: PackageReading, isStored: boolean): void {
    const key = keyOf(entry);
    if (this.#used.readings.has(key)) return;
    this.#use('reading', key);
    if (this.#file !== undefined) this.#add({ kind: 'reading', key, value: encodeReading(reading, isStored) });
  }

  /** True, once, when an earlier start saw this code load: a reload or refresh tries it again. */
  loads(key: string): boolean {
    if (this.#used.loads.has(key) || !this.#kept.loads.delete(key)) return false;
    this.#use('loads', key);
    return true;
  }

  rememberLoad(key: string, works: boolean): void {
    const { loads } = this.#used;
    this.#kept.loads.delete(key);
    if (works === loads.has(key)) return;
    if (works) this.#use('loads', key);
    else loads.delete(key);
    this.#add({ kind: works ? 'loads' : 'no longer loads', key, value: NOTHING });
  }

  /** All readings were asked for: what is left belongs to packages that are gone. */
  endStart(): void {
    this.#kept.readings.clear();
  }

  /** … and all loads, also those whose endpoints took their time. */
  endLoads(): void {
    this.#kept.loads.clear();
  }

  #add(record: KnownRecord): void {
    if (this.#file !== undefined) this.#added.set(`${record.kind} ${record.key}`, record);
  }

  /** Drops what was used the longest ago. */
  #use(kind: 'reading' | 'loads', key: string): void {
    const used = kind === 'loads' ? this.#used.loads : this.#used.readings;
    used.delete(key);
    used.add(key);
    const [oldest] = used.size > this.#most ? used : [];
    if (oldest === undefined) return;
    used.delete(oldest);
    this.#added.delete(`${kind} ${oldest}`);
  }

  /** Resolves when all that is known now is kept. Never rejects: what cannot be kept is found out again. */
  save(): Promise<void> {
    this.#saved = this.#saved.then(() => this.#write());
    return this.#saved;
  }

  async #write(): Promise<void> {
    if (this.#added.size === 0 || this.#file === undefined) return;
    const added = this.#added;
    this.#added = new Map();
    const { readings, loads } = this.#used;
    const useful = readings.size + loads.size;
    const records = (this.#records ?? Infinity) + added.size;
    try {
      const encoded: Buffer[] = [];
      for await (const some of inTurns([...added.values()]))
        for (const record of some) encoded.push(encodeRecord(record));
      if (records < 2 * useful) await appendFile(this.#file, Buffer.concat(encoded));
      else await this.#writeAll(this.#file, encoded);
      this.#records = records < 2 * useful ? records : useful;
    } catch {
      this.#records = undefined;
    }
  }

  /** Only what is used: the rest is forgotten. */
  async #writeAll(file: string, added: readonly Buffer[]): Promise<void> {
    const before = keptIn(await bytesOf(file), this.#version);
    const { readings, loads } = this.#used;
    const all = [encodeRecord({ kind: 'version', key: this.#version, value: NOTHING })];
    for (const [key, value] of before.readings)
      if (readings.has(key)) all.push(encodeRecord({ kind: 'reading', key, value }));
    for (const key of before.loads)
      if (loads.has(key) || this.#kept.loads.has(key)) all.push(encodeRecord({ kind: 'loads', key, value: NOTHING }));
    await writeFile(`${file}.new`, Buffer.concat([...all, ...added]));
    await rename(`${file}.new`, file);
  }
}

const keyOf = ({ id, digest }: Pick<ShelfEntry, 'id' | 'digest'>): string => `${koKey(id)} ${digest}`;

const bytesOf = async (file: string | undefined): Promise<Buffer> =>
  file === undefined ? NOTHING : readFile(file).catch(() => NOTHING);

function keptIn(bytes: Buffer, version: string): Kept {
  const { records, isWhole } = decodeRecords(bytes);
  const isOurs = records[0]?.kind === 'version' && records[0].key === version;
  const kept = { readings: new Map<string, Buffer>(), loads: new Set<string>() };
  for (const { kind, key, value } of isOurs ? records : []) {
    if (kind === 'reading') kept.readings.set(key, value);
    else if (kind === 'loads') kept.loads.add(key);
    else if (kind === 'no longer loads') kept.loads.delete(key);
  }
  return { ...kept, records: isOurs && isWhole ? records.length - 1 : undefined };
}
