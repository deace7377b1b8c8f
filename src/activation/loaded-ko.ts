/** A knowledge object as it was read from the shelf: what a refresh activates again without reading anew. */
import { withEngineNames } from '../engines/table.ts';
import { deployedServices, withPackagePaths } from '../knowledge-object/deployed-services.ts';
import { type DescriptorReader, readHere } from '../knowledge-object/descriptors/background-reader.ts';
import type { Deployment, DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import { HOOKS_FILE } from '../knowledge-object/descriptors/hooks.ts';
import type { Service } from '../knowledge-object/descriptors/service.ts';
import { isEndpointPart, type KoId, koKey } from '../knowledge-object/id.ts';
import { type KoMetadata, METADATA_FILE, parseMetadata } from '../knowledge-object/metadata.ts';
import { plainAtId } from '../knowledge-object/places.ts';
import { messageOf, packageDamaged, ServiceError } from '../lib/errors.ts';
import { withoutMark } from '../lib/text.ts';
import type { Verdict } from '../shelf/package/signatures/verdict.ts';
import type { KoPackage, ShelfEntry } from '../shelf/shelf.ts';
import { Library } from './library.ts';

/** What a knowledge object has for an activator: its endpoints are those of its services. */
export interface LoadedService {
  readonly service: Service;
  /** The artifacts are relative to the package. */
  readonly deployment: Deployment;
  /** Where the deployment descriptor lies in the package; empty for the root. */
  readonly folder: string;
  /** Those with the same number are of one service: of these, what deploys the same path are alternatives. */
  readonly of: number;
  /** Artifacts that its endpoints name and the package does not have. */
  readonly missing?: readonly string[] | undefined;
  /** Of its endpoints: `info.version` of the service descriptor, or the KO version where that is missing or no version. */
  readonly apiVersion: string;
}

/** All that is read of a package to make its endpoints: the same for the same content at the same place. */
export interface PackageReading {
  readonly services: readonly LoadedService[];
  /** All endpoints that they declare, in their order. */
  readonly declared: readonly { readonly from: LoadedService; readonly entry: DeploymentEntry }[];
  /** Path of its service descriptor, also where it deploys nothing. */
  readonly descriptor: string | undefined;
  /** It offers CDS services. */
  readonly hooks: boolean;
}

export interface LoadOptions {
  readonly reader?: DescriptorReader | undefined;
  /** What was read of the same content before, when it was found to agree. */
  readonly reading?: PackageReading | undefined;
  /** The descriptors are read all the same, to find out whether they are still there. */
  readonly readsAgain?: boolean;
  /** The functions of its library are endpoints where it deploys none. */
  readonly servesLibraries?: boolean;
}

export class LoadedKo {
  readonly id: KoId;
  readonly key: string;
  /** Its `@id`, in the form in which two are compared; the key, where it names its place itself. */
  readonly atId: string;
  /** What the shelf said of it when it was loaded. */
  readonly entry: ShelfEntry;
  /** Where its endpoints are the functions of a library. */
  readonly library: Library | undefined;
  /** Path of its service descriptor, also where it deploys nothing. */
  readonly descriptor: string | undefined;
  /** What was read of its package. */
  readonly reading: PackageReading;
  /** Its ids and the addresses of its services are known to agree. */
  agrees: boolean;
  /** What was found of its signatures when it was loaded; undefined where nobody asks. */
  trust: Verdict | undefined;
  /** False where what was read of its package is known from an earlier start. */
  readonly wasRead: boolean;
  /** Undefined until it is needed. */
  #package: KoPackage | undefined;
  readonly #reopen: () => Promise<KoPackage | undefined>;
  #opening: Promise<KoPackage> | undefined;
  /**
   * Files on their way; and those of an exploded folder, which is read once, so that a person who edits it changes nothing
   * before a reload.
   */
  #artifacts: Map<string, Promise<Buffer>> | undefined;
  /** Artifacts that could not be read when they were asked for last, for a reason that passes. */
  #unread: Set<string> | undefined;
  #users = 0;
  #isAtHome: boolean | undefined;

  private constructor(
    entry: ShelfEntry,
    reading: PackageReading,
    parts: {
      readonly atId?: string | undefined;
      readonly agrees: boolean;
      readonly wasRead: boolean;
      readonly pkg?: KoPackage;
      readonly reopen?: () => Promise<KoPackage | undefined>;
      readonly library?: Library | undefined;
    },
  ) {
    const { atId, pkg, reopen, library } = parts;
    this.entry = entry;
    this.id = entry.id;
    this.key = koKey(entry.id);
    this.atId = atId ?? this.key;
    this.reading = reading;
    this.library = library;
    this.descriptor = reading.descriptor ?? library?.file;
    this.agrees = parts.agrees;
    this.wasRead = parts.wasRead;
    this.#package = pkg;
    this.#reopen = reopen ?? (() => Promise.resolve(pkg));
  }

  /** Who signed it, of those whom the trust policy names. */
  get signers(): readonly string[] {
    return this.trust?.signatures.map(({ signer }) => signer) ?? [];
  }

  /** One of which all is known that activation reads: its package is opened when somebody asks for a file. */
  static known(entry: ShelfEntry, reading: PackageReading, reopen: () => Promise<KoPackage | undefined>): LoadedKo {
    return new LoadedKo(entry, reading, { atId: entry.atId, agrees: true, wasRead: false, reopen });
  }

  /**
   * Reads metadata and descriptors. The package is released when it fails.
   * @throws Error with the cause for the operator; tooManyOpen.
   */
  static async load(pkg: KoPackage, options: LoadOptions = {}): Promise<LoadedKo> {
    const { reader = readHere, servesLibraries = false } = options;
    try {
      // "Later PUTs of metadata never move a KO", nor does another default.
      const details = parseMetadata(pkg.entry.metadata, pkg.entry.id.naan);
      const reading = options.reading ?? (await readPackage(pkg, details, reader));
      const isTaken = options.reading !== undefined;
      if (isTaken && options.readsAgain === true)
        for (const { service, deployment } of reading.services)
          for (const { file } of [service, deployment]) await pkg.read(file);
      const library =
        servesLibraries && reading.services.length === 0 ? Library.of(details, pkg.entry.id, pkg.files) : undefined;
      // A folder that a person edits is as it was when it was read.
      const wasRead = !isTaken || options.readsAgain === true || pkg.digestOf(METADATA_FILE) === undefined;
      // Which endpoints a library has, its code tells: each is looked at.
      const agrees = isTaken && library === undefined;
      const parts = { atId: plainAtId(details.atId), agrees, wasRead, pkg, library };
      return new LoadedKo(pkg.entry, reading, parts);
    } catch (thrown) {
      pkg.release();
      throw isTransient(thrown) ? thrown : new Error(messageOf(thrown), { cause: thrown });
    }
  }

  /** Its metadata as JSON text, as it was loaded. */
  get metadata(): string {
    return withoutMark(this.entry.metadata);
  }

  /** What its metadata say: parsed each time, since most are asked for once. */
  get details(): KoMetadata {
    return parseMetadata(this.entry.metadata, this.id.naan);
  }

  /** The package, which stays open as long as an endpoint has it. @throws packageDamaged; shelfNotReadable. */
  open(): Promise<KoPackage> {
    if (this.#package !== undefined) return Promise.resolve(this.#package);
    this.#opening ??= this.#openAgain().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #openAgain(): Promise<KoPackage> {
    const pkg = await this.#reopen();
    if (pkg?.entry.digest !== this.entry.digest) {
      pkg?.release();
      throw packageDamaged(`The package of ${this.key} is no longer on the shelf; reload the knowledge object.`);
    }
    this.#package = pkg;
    this.settle();
    return pkg;
  }

  get isOpen(): boolean {
    return this.#package !== undefined;
  }

  /** Once it is open. */
  get package(): KoPackage {
    if (this.#package === undefined) throw new Error(`${this.key} is not open`);
    return this.#package;
  }

  /** None where it deploys nothing; those of a library as far as they are known. */
  get services(): readonly LoadedService[] {
    return this.library === undefined ? this.reading.services : [this.library.service];
  }

  /** All endpoints that its services declare, in their order. */
  get declared(): PackageReading['declared'] {
    return this.library === undefined ? this.reading.declared : declaredBy([this.library.service]);
  }

  /** False where its metadata were given the `@id` of another place: then it does not run. */
  get isAtHome(): boolean {
    return (this.#isAtHome ??= koKey(this.details.id) === this.key);
  }

  /** Bytes of a file of the package, or of the descriptor that is made for a library. @throws as `open`. */
  async sizeOf(path: string): Promise<number | undefined> {
    return (await this.open()).files.get(path)?.size ?? this.made(path)?.length;
  }

  /** The descriptor that is made for a library, by its path. */
  made(path: string): Buffer | undefined {
    return path === this.library?.file ? Buffer.from(this.library.descriptor) : undefined;
  }

  /** An artifact's bytes, as they were when first asked for: what the shelf stores under a digest never changes. */
  artifact(path: string): Promise<Buffer> {
    const made = this.made(path);
    if (made !== undefined) return Promise.resolve(made);
    const artifacts = (this.#artifacts ??= new Map<string, Promise<Buffer>>());
    let bytes = artifacts.get(path);
    if (bytes === undefined) {
      bytes = this.open().then((pkg) => pkg.read(path));
      artifacts.set(path, bytes);
      bytes.then(
        () => {
          this.#unread?.delete(path);
          if (this.#package?.digestOf(path) !== undefined) artifacts.delete(path);
        },
        (thrown: unknown) => {
          if (!isTransient(thrown)) return;
          artifacts.delete(path);
          (this.#unread ??= new Set<string>()).add(path);
        },
      );
    }
    return bytes;
  }

  /** True while something of it could not be read and may be readable later. */
  get isUnread(): boolean {
    return this.#unread !== undefined && this.#unread.size > 0;
  }

  /** Keeps the files readable until `release`. */
  retain(): void {
    this.#users++;
  }

  release(): void {
    this.#users--;
    this.settle();
  }

  /** Lets go of the package where nobody uses it. */
  settle(): void {
    if (this.#users === 0) this.#package?.release();
  }
}

/** Says nothing about the knowledge object: the same may succeed a little later. */
export const isTransient = (thrown: unknown): thrown is ServiceError =>
  thrown instanceof ServiceError && thrown.status === 503;

async function readPackage(pkg: KoPackage, details: KoMetadata, reader: DescriptorReader): Promise<PackageReading> {
  const { services: deployed, descriptor, problems } = deployedServices(details, pkg.files);
  const [problem] = problems;
  if (problem !== undefined) throw new Error(problem.message);
  const text = async (path: string): Promise<string> => (await pkg.read(path)).toString('utf8');
  const services: LoadedService[] = [];
  for (const { service: serviceFile, deployment: deploymentFile, folder, of } of deployed) {
    const reading = text(deploymentFile).then((it) => reader.deployment(it, deploymentFile));
    // Of two that cannot be read the first is told of.
    reading.catch(() => undefined);
    const service = await reader.service(await text(serviceFile), serviceFile);
    const parsed = await reading;
    const deployment = withEngineNames(withPackagePaths(parsed, folder, pkg.files));
    const { apiVersion = '' } = service;
    const own = isEndpointPart(apiVersion) ? apiVersion : pkg.entry.id.version;
    services.push({ service, deployment, folder, of, apiVersion: own, missing: missingOf(deployment, pkg.files) });
  }
  return { services, descriptor, declared: declaredBy(services), hooks: pkg.files.has(HOOKS_FILE) };
}

const declaredBy = (services: readonly LoadedService[]): PackageReading['declared'] =>
  services.flatMap((from) => [...from.deployment.endpoints.values()].flat().map((entry) => ({ from, entry })));

function missingOf(deployment: Deployment, files: KoPackage['files']): readonly string[] {
  const named = [...deployment.endpoints.values()].flat().flatMap(({ artifacts, entry }) => [...artifacts, entry]);
  return [...new Set(named)].filter((path) => path !== '' && !files.has(path));
}
