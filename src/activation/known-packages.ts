/**
 * What earlier starts found out about packages, by their digests: parsed descriptors, and which code was seen to
 * load. A second start with a thousand knowledge objects then takes a moment. Nothing is lost without it.
 */
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import { deserialize, serialize } from 'node:v8';
import type { Deployment } from '../knowledge-object/descriptors/deployment.ts';
import type { Service } from '../knowledge-object/descriptors/service.ts';
import { inTurns } from '../lib/in-turns.ts';
import { decodeRecords, encodeRecord } from './known-file.ts';
import type { KnownRecord } from './known-file.ts';

export interface Descriptors {
  readonly service: Service;
  readonly deployment: Deployment;
}

/** What the file holds. */
interface Kept {
  /** As they stand in the file: most are asked for once, and some never again. */
  readonly descriptors: Map<string, Buffer>;
  readonly loads: Set<string>;
  /** How many stand in the file; undefined where nothing can be added to it. */
  readonly records: number | undefined;
}

interface Added extends Pick<KnownRecord, 'kind' | 'key'> {
  readonly descriptors?: Descriptors | undefined;
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
  /**
   * What was used since the start: the rest belongs to packages that are gone. Descriptors are held by the knowledge
   * objects that have them, and go with the last of these.
   */
  readonly #used = { descriptors: new Map<string, WeakRef<Descriptors>>(), loads: new Set<string>() };
  readonly #gone = new FinalizationRegistry<string>((key) => {
    if (this.#used.descriptors.get(key)?.deref() === undefined) this.#used.descriptors.delete(key);
  });
  /** What is to be added to the file, by kind and key. */
  #added = new Map<string, Added>();
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
    const bytes = file === undefined ? NOTHING : await readFile(file).catch(() => NOTHING);
    return new KnownPackages(file, version, keptIn(bytes, version), most);
  }

  /** The descriptors of a package, which are parsed only where they are not known. */
  async descriptors(key: string, parse: () => Descriptors | Promise<Descriptors>): Promise<Descriptors> {
    let found = this.#used.descriptors.get(key)?.deref();
    const isHeld = found !== undefined;
    found ??= this.#keptDescriptors(key);
    if (found === undefined) {
      found = await parse();
      this.#add('descriptors', key, found);
    }
    if (!isHeld) this.#gone.register(found, key);
    this.#used.descriptors.delete(key);
    this.#used.descriptors.set(key, new WeakRef(found));
    this.#forget(this.#used.descriptors);
    return found;
  }

  /** True, once, when an earlier start saw this code load: a reload or refresh tries it again. */
  loads(key: string): boolean {
    if (this.#used.loads.has(key) || !this.#kept.loads.delete(key)) return false;
    this.#used.loads.add(key);
    return true;
  }

  rememberLoad(key: string, works: boolean): void {
    const { loads } = this.#used;
    this.#kept.loads.delete(key);
    if (works === loads.has(key)) return;
    if (works) loads.add(key);
    else loads.delete(key);
    this.#forget(loads);
    this.#add(works ? 'loads' : 'no longer loads', key);
  }

  /** All descriptors were asked for: what is left belongs to packages that are gone. */
  endStart(): void {
    this.#kept.descriptors.clear();
  }

  /** … and all loads, also those whose endpoints took their time. */
  endLoads(): void {
    this.#kept.loads.clear();
  }

  #keptDescriptors(key: string): Descriptors | undefined {
    const bytes = this.#kept.descriptors.get(key);
    // As long as one is left, all the bytes of the file are held.
    this.#kept.descriptors.delete(key);
    try {
      return bytes && (deserialize(bytes) as Descriptors);
    } catch {
      return undefined;
    }
  }

  #add(kind: KnownRecord['kind'], key: string, descriptors?: Descriptors): void {
    if (this.#file !== undefined) this.#added.set(`${kind} ${key}`, { kind, key, descriptors });
  }

  /** Drops what was used the longest ago. */
  #forget(remembered: Map<string, unknown> | Set<string>): void {
    const [oldest] = remembered.size > this.#most ? remembered.keys() : [];
    if (oldest !== undefined) remembered.delete(oldest);
  }

  /** Resolves when all that is known now is kept. Never rejects: what cannot be kept is found out again. */
  save(): Promise<void> {
    this.#saved = this.#saved.then(() => this.#write());
    return this.#saved;
  }

  async #write(): Promise<void> {
    if (this.#added.size === 0 || this.#file === undefined) return;
    const added = [...this.#added.values()];
    this.#added = new Map();
    const { descriptors, loads } = this.#used;
    const useful = descriptors.size + loads.size;
    const records = (this.#records ?? Infinity) + added.length;
    try {
      if (records < 2 * useful) await appendFile(this.#file, await this.#encoded(added));
      else await this.#writeAll(this.#file);
      this.#records = records < 2 * useful ? records : useful;
    } catch {
      this.#records = undefined;
    }
  }

  /** Only what is used: the rest is forgotten. */
  async #writeAll(file: string): Promise<void> {
    const all = [
      { kind: 'version', key: this.#version } as const,
      ...[...this.#used.descriptors.keys()].map((key) => ({ kind: 'descriptors', key }) as const),
      ...[...new Set([...this.#used.loads, ...this.#kept.loads])].map((key) => ({ kind: 'loads', key }) as const),
    ];
    await writeFile(`${file}.new`, await this.#encoded(all));
    await rename(`${file}.new`, file);
  }

  async #encoded(records: readonly Added[]): Promise<Buffer> {
    const encoded: Buffer[] = [];
    for await (const some of inTurns(records)) {
      for (const { kind, key, descriptors } of some) {
        const value = kind === 'descriptors' ? this.#bytesOf(key, descriptors) : NOTHING;
        if (value !== undefined) encoded.push(encodeRecord({ kind, key, value }));
      }
    }
    return Buffer.concat(encoded);
  }

  #bytesOf(key: string, added: Descriptors | undefined): Buffer | undefined {
    const used = added ?? this.#used.descriptors.get(key)?.deref();
    return used && serialize(used);
  }
}

function keptIn(bytes: Buffer, version: string): Kept {
  const { records, isWhole } = decodeRecords(bytes);
  const isOurs = records[0]?.kind === 'version' && records[0].key === version;
  const kept = { descriptors: new Map<string, Buffer>(), loads: new Set<string>() };
  for (const { kind, key, value } of isOurs ? records : []) {
    if (kind === 'descriptors') kept.descriptors.set(key, value);
    else if (kind === 'loads') kept.loads.add(key);
    else if (kind === 'no longer loads') kept.loads.delete(key);
  }
  return { ...kept, records: isOurs && isWhole ? records.length - 1 : undefined };
}
