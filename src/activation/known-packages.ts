/**
 * What earlier starts found out about packages, by their digests: parsed descriptors, and which code was seen to
 * load. A second start with a thousand knowledge objects then takes a moment. Nothing is lost without it.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { deserialize, serialize } from 'node:v8';
import type { Deployment } from '../knowledge-object/descriptors/deployment.ts';
import type { Service } from '../knowledge-object/descriptors/service.ts';

export interface Descriptors {
  readonly service: Service;
  readonly deployment: Deployment;
}

/** What the file holds; `version` is that of the service, since another one may parse differently. */
interface Content {
  readonly version: string;
  readonly descriptors: Map<string, Descriptors>;
  readonly loads: Set<string>;
}

/** More than most shelves have; a service that runs for long sees many packages come and go. */
const MOST = 10_000;

export class KnownPackages {
  readonly #file: string | undefined;
  readonly #most: number;
  readonly #known: Content;
  /** What was used since the start: the rest belongs to packages that are gone. */
  readonly #used: Content;
  #changed = false;
  #saved = Promise.resolve();

  private constructor(file: string | undefined, version: string, known: Content | undefined, most: number) {
    this.#file = file;
    this.#most = most;
    this.#used = { version, descriptors: new Map(), loads: new Set() };
    this.#known = known ?? this.#used;
  }

  /** Without a file nothing is kept. One that cannot be read is as good as none. `most`: what is remembered at most. */
  static async open(file: string | undefined, version: string, most = MOST): Promise<KnownPackages> {
    const known = file === undefined ? undefined : await readFile(file).then(contentOf, () => undefined);
    return new KnownPackages(file, version, known?.version === version ? known : undefined, most);
  }

  /** The descriptors of a package, which are parsed only where they are not known. */
  async descriptors(key: string, parse: () => Descriptors | Promise<Descriptors>): Promise<Descriptors> {
    let found = this.#used.descriptors.get(key) ?? this.#known.descriptors.get(key);
    if (found === undefined) {
      found = await parse();
      this.#changed = true;
    }
    this.#used.descriptors.delete(key);
    this.#used.descriptors.set(key, found);
    this.#forget(this.#used.descriptors);
    return found;
  }

  /** True, once, when an earlier start saw this code load: a reload or refresh tries it again. */
  loads(key: string): boolean {
    if (this.#used.loads.has(key) || !this.#known.loads.has(key)) return false;
    this.#used.loads.add(key);
    return true;
  }

  rememberLoad(key: string, works: boolean): void {
    const { loads } = this.#used;
    if (works === loads.has(key)) return;
    if (works) loads.add(key);
    else loads.delete(key);
    this.#forget(loads);
    this.#changed = true;
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
    if (!this.#changed || this.#file === undefined) return;
    this.#changed = false;
    const temporary = `${this.#file}.new`;
    await writeFile(temporary, serialize(this.#used))
      .then(() => rename(temporary, this.#file ?? ''))
      .catch(() => undefined);
  }
}

function contentOf(bytes: Buffer): Content | undefined {
  try {
    const value = deserialize(bytes) as Partial<Content>;
    const isContent =
      typeof value.version === 'string' && value.descriptors instanceof Map && value.loads instanceof Set;
    return isContent ? (value as Content) : undefined;
  } catch {
    return undefined;
  }
}
