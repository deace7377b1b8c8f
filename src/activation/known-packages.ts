/**
 * What earlier starts found out about packages: what is read of them, and which code was seen to load. A second start with
 * ten thousand knowledge objects then takes a moment. Nothing is lost without it.
 */
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import { deserialize, serialize } from 'node:v8';
import { crc32 } from 'node:zlib';
import type { Deployment, DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import type { Service } from '../knowledge-object/descriptors/service.ts';
import { koKey } from '../knowledge-object/id.ts';
import { inTurns } from '../lib/fair-queue.ts';
import type { ShelfEntry } from '../shelf/shelf.ts';
import type { LoadedService, PackageReading } from './loaded-ko.ts';

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

// The form in which `known-packages` is kept: records one after another, so that a change costs what it adds.

/** `value` is empty but for readings. */
interface KnownRecord {
  readonly kind: Kind;
  readonly key: string;
  readonly value: Buffer;
}

const KINDS = ['version', 'reading', 'loads', 'no longer loads'] as const;
type Kind = (typeof KINDS)[number];

/** Bytes: the length of all that follows, its check sum, the kind, the length of the key. */
const HEADER_BYTES = 4 + 4 + 1 + 2;
const SUM_AT = 4;
const KIND_AT = 8;
const LENGTH_AT = 9;

function encodeRecord({ kind, key, value }: KnownRecord): Buffer {
  const name = Buffer.from(key);
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt32LE(HEADER_BYTES - 4 + name.length + value.length, 0);
  head.writeUInt8(KINDS.indexOf(kind), KIND_AT);
  head.writeUInt16LE(name.length, LENGTH_AT);
  const record = Buffer.concat([head, name, value]);
  record.writeUInt32LE(crc32(record.subarray(KIND_AT)), SUM_AT);
  return record;
}

/** The records up to the first that is not as it was written. @returns `isWhole` false where something follows them. */
function decodeRecords(bytes: Buffer): { readonly records: KnownRecord[]; readonly isWhole: boolean } {
  const records: KnownRecord[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const end = at + 4 + bytes.readUInt32LE(at);
    const kind = KINDS[bytes.readUInt8(at + KIND_AT)];
    const value = at + HEADER_BYTES + bytes.readUInt16LE(at + LENGTH_AT);
    if (kind === undefined || end > bytes.length || value > end) break;
    if (crc32(bytes.subarray(at + KIND_AT, end)) !== bytes.readUInt32LE(at + SUM_AT)) break;
    records.push({ kind, key: bytes.toString('utf8', at + HEADER_BYTES, value), value: bytes.subarray(value, end) });
    at = end;
  }
  return { records, isWhole: at === bytes.length };
}

/**
 * What an earlier start read of a package, in the form in which it is kept: what tells its endpoints apart, and behind it all
 * else, which is unpacked when somebody asks for it. Of most knowledge objects nobody does.
 */
interface Head {
  readonly descriptor?: string | undefined;
  readonly hooks: boolean;
  readonly isStored: boolean;
  readonly services: readonly ServiceHead[];
}

type ServiceHead = readonly [apiVersion: string, of: number, entries: readonly EntryHead[]];
type EntryHead = readonly [path: string, method: string, engine: string, timeout?: number | null, note?: string];

const HEAD_LENGTH_BYTES = 4;

/** `isStored`: its files never change, and need not be read before somebody asks for one. */
function encodeReading({ services, descriptor, hooks }: PackageReading, isStored: boolean): Buffer {
  const head: Head = {
    descriptor,
    isStored,
    hooks,
    services: services.map(({ apiVersion, of, deployment }) => [apiVersion, of, entriesOf(deployment).map(headOf)]),
  };
  const text = Buffer.from(JSON.stringify(head));
  const header = Buffer.alloc(HEAD_LENGTH_BYTES);
  header.writeUInt32LE(text.length);
  return Buffer.concat([header, text, serialize(services)]);
}

function headOf({ path, method, engine, timeout, note }: DeploymentEntry): EntryHead {
  if (note !== undefined) return [path, method, engine, timeout ?? null, note];
  return timeout === undefined ? [path, method, engine] : [path, method, engine, timeout];
}

class KnownReading implements PackageReading {
  readonly hooks: boolean;
  readonly isStored: boolean;
  readonly descriptor: string | undefined;
  readonly declared: PackageReading['declared'];
  #services: readonly LoadedService[] | Buffer;

  /** `bytes`: as `encodeReading` made them. */
  constructor(bytes: Buffer) {
    const end = HEAD_LENGTH_BYTES + bytes.readUInt32LE();
    const { descriptor, isStored, hooks, services } = JSON.parse(
      bytes.toString('utf8', HEAD_LENGTH_BYTES, end),
    ) as Head;
    this.isStored = isStored;
    this.hooks = hooks;
    this.descriptor = descriptor;
    this.#services = bytes.subarray(end);
    this.declared = services.flatMap(([apiVersion, of, entries], at) => {
      const from = new KnownService(this, at, apiVersion, of);
      return entries.map((head, i) => ({ from, entry: new KnownEntry(from, i, head) }));
    });
  }

  get services(): readonly LoadedService[] {
    if (Buffer.isBuffer(this.#services)) this.#services = deserialize(this.#services) as LoadedService[];
    return this.#services;
  }
}

class KnownService implements LoadedService {
  readonly apiVersion: string;
  readonly of: number;
  readonly #reading: KnownReading;
  readonly #at: number;

  constructor(reading: KnownReading, at: number, apiVersion: string, of: number) {
    this.#reading = reading;
    this.#at = at;
    this.apiVersion = apiVersion;
    this.of = of;
  }

  get service(): Service {
    return this.#whole.service;
  }

  get deployment(): Deployment {
    return this.#whole.deployment;
  }

  get folder(): string {
    return this.#whole.folder;
  }

  get missing(): readonly string[] | undefined {
    return this.#whole.missing;
  }

  get #whole(): LoadedService {
    const service = this.#reading.services[this.#at];
    if (service === undefined) throw new Error('what is kept of a package is not what was read of it');
    return service;
  }
}

class KnownEntry implements DeploymentEntry {
  readonly path: string;
  readonly method: string;
  readonly engine: string;
  readonly timeout: number | undefined;
  readonly note: string | undefined;
  readonly #from: KnownService;
  readonly #at: number;

  constructor(from: KnownService, at: number, [path, method, engine, timeout, note]: EntryHead) {
    this.#from = from;
    this.#at = at;
    this.path = path;
    this.method = method;
    this.engine = engine;
    this.timeout = timeout ?? undefined;
    this.note = note;
  }

  get artifacts(): DeploymentEntry['artifacts'] {
    return this.#whole.artifacts;
  }

  get entry(): DeploymentEntry['entry'] {
    return this.#whole.entry;
  }

  get function(): DeploymentEntry['function'] {
    return this.#whole.function;
  }

  get package(): DeploymentEntry['package'] {
    return this.#whole.package;
  }

  get module(): DeploymentEntry['module'] {
    return this.#whole.module;
  }

  get installs(): DeploymentEntry['installs'] {
    return this.#whole.installs;
  }

  get isolation(): DeploymentEntry['isolation'] {
    return this.#whole.isolation;
  }

  get validate(): DeploymentEntry['validate'] {
    return this.#whole.validate;
  }

  get network(): DeploymentEntry['network'] {
    return this.#whole.network;
  }

  get mcpName(): DeploymentEntry['mcpName'] {
    return this.#whole.mcpName;
  }

  get raw(): DeploymentEntry['raw'] {
    return this.#whole.raw;
  }

  get line(): DeploymentEntry['line'] {
    return this.#whole.line;
  }

  get problems(): DeploymentEntry['problems'] {
    return this.#whole.problems;
  }

  get #whole(): DeploymentEntry {
    const entry = entriesOf(this.#from.deployment)[this.#at];
    if (entry === undefined) throw new Error('what is kept of a package is not what was read of it');
    return entry;
  }
}

const entriesOf = ({ endpoints }: Deployment): readonly DeploymentEntry[] => [...endpoints.values()].flat();
