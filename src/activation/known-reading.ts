/**
 * What an earlier start read of a package, in the form in which it is kept: what tells its endpoints apart, and behind it all
 * else, which is unpacked when somebody asks for it. Of most knowledge objects nobody does.
 */
import { deserialize, serialize } from 'node:v8';
import type { Deployment, DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import type { Service } from '../knowledge-object/descriptors/service.ts';
import type { LoadedService, PackageReading } from './loaded-ko.ts';

interface Head {
  readonly descriptor?: string | undefined;
  readonly isStored: boolean;
  readonly services: readonly ServiceHead[];
}

type ServiceHead = readonly [apiVersion: string, of: number, entries: readonly EntryHead[]];
type EntryHead = readonly [path: string, method: string, engine: string, timeout?: number | null, note?: string];

const HEADER_BYTES = 4;

/** `isStored`: its files never change, and need not be read before somebody asks for one. */
export function encodeReading({ services, descriptor }: PackageReading, isStored: boolean): Buffer {
  const head: Head = {
    ...{ descriptor, isStored },
    services: services.map(({ apiVersion, of, deployment }) => [apiVersion, of, entriesOf(deployment).map(headOf)]),
  };
  const text = Buffer.from(JSON.stringify(head));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(text.length);
  return Buffer.concat([header, text, serialize(services)]);
}

function headOf({ path, method, engine, timeout, note }: DeploymentEntry): EntryHead {
  if (note !== undefined) return [path, method, engine, timeout ?? null, note];
  return timeout === undefined ? [path, method, engine] : [path, method, engine, timeout];
}

export class KnownReading implements PackageReading {
  readonly isStored: boolean;
  readonly descriptor: string | undefined;
  readonly declared: PackageReading['declared'];
  #services: readonly LoadedService[] | Buffer;

  /** `bytes`: as `encodeReading` made them. */
  constructor(bytes: Buffer) {
    const end = HEADER_BYTES + bytes.readUInt32LE();
    const { descriptor, isStored, services } = JSON.parse(bytes.toString('utf8', HEADER_BYTES, end)) as Head;
    this.isStored = isStored;
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
