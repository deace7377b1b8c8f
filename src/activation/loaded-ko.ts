/** A knowledge object as it was read from the shelf: what a refresh activates again without reading anew. */
import { withEngineNames } from '../engines/table.ts';
import { withPackagePaths } from '../knowledge-object/deployed-artifacts.ts';
import { deployedServices } from '../knowledge-object/deployed-services.ts';
import type { DeployedService } from '../knowledge-object/deployed-services.ts';
import { readHere } from '../knowledge-object/descriptors/descriptor-reader.ts';
import type { DescriptorReader } from '../knowledge-object/descriptors/descriptor-reader.ts';
import type { Deployment, DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import type { Service } from '../knowledge-object/descriptors/service.ts';
import { isEndpointPart, koKey } from '../knowledge-object/id.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { parseMetadata } from '../knowledge-object/metadata.ts';
import type { KoMetadata } from '../knowledge-object/metadata.ts';
import { messageOf, ServiceError } from '../lib/errors.ts';
import { digestOf } from '../lib/digest.ts';
import { plainAtId } from '../knowledge-object/places.ts';
import type { KoPackage } from '../shelf/shelf.ts';

import { DescriptorFile } from './descriptor-file.ts';
import type { Descriptors, KnownPackages } from './known-packages.ts';
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
  /** What was parsed; it is known as long as a knowledge object has it. */
  readonly parsed?: Descriptors;
  /** Of its endpoints: `info.version` of the service descriptor, or the KO version where that is missing or no version. */
  readonly apiVersion: string;
}

const NONE: readonly string[] = [];

export interface LoadOptions {
  readonly known?: KnownPackages | undefined;
  readonly reader?: DescriptorReader | undefined;
  /** Descriptors that are known by the digests of the shelf are not read. */
  readonly takesKnown?: boolean;
  /** The functions of its library are endpoints where it deploys none. */
  readonly servesLibraries?: boolean;
}

export class LoadedKo {
  readonly id: KoId;
  readonly key: string;
  /** Its `@id`, in the form in which two are compared; the key, where it names its place itself. */
  readonly atId: string;
  /** The metadata as JSON text, as it was loaded. */
  readonly metadata: string;
  readonly details: KoMetadata;
  /** Where its endpoints are the functions of a library. */
  readonly library: Library | undefined;
  /** Path of its service descriptor, also where it deploys nothing. */
  readonly descriptor: string | undefined;
  readonly package: KoPackage;
  readonly #services: readonly LoadedService[];
  /**
   * Files on their way; and those of an exploded folder, which is read once, so that a person who edits it changes nothing
   * before a reload.
   */
  readonly #artifacts = new Map<string, Promise<Buffer>>();
  /** Artifacts that could not be read when they were asked for last, for a reason that passes. */
  readonly #unread = new Set<string>();
  #users = 0;
  /** Descriptors that are known and were not read. */
  #taken: readonly string[];

  private constructor(
    pkg: KoPackage,
    details: KoMetadata,
    services: readonly LoadedService[],
    descriptor: string | undefined,
    taken: readonly string[],
    library: Library | undefined,
  ) {
    this.package = pkg;
    this.id = pkg.entry.id;
    this.key = koKey(this.id);
    this.atId = plainAtId(details.atId);
    this.metadata = details.text;
    this.details = details;
    this.#services = services;
    this.library = library;
    this.descriptor = descriptor ?? library?.file;
    this.#taken = taken;
  }

  /**
   * Reads metadata and descriptors. The package is released when it fails.
   * @throws Error with the cause for the operator; tooManyOpen.
   */
  static async load(pkg: KoPackage, options: LoadOptions = {}): Promise<LoadedKo> {
    const { known, reader = readHere, takesKnown = false, servesLibraries = false } = options;
    try {
      // "Later PUTs of metadata never move a KO", nor does another default.
      const details = parseMetadata(pkg.entry.metadata, pkg.entry.id.naan);
      const { services: deployed, descriptor, problems } = deployedServices(details, pkg.files);
      const [problem] = problems;
      if (problem !== undefined) throw new Error(problem.message);
      const services: LoadedService[] = [];
      const taken: string[] = [];
      for (const each of deployed) {
        const files: [DescriptorFile, DescriptorFile] = [
          new DescriptorFile(pkg, each.service),
          new DescriptorFile(pkg, each.deployment),
        ];
        if (!takesKnown) for (const file of files) await file.text();
        services.push(await loadService(pkg, each, files, known, reader));
        taken.push(...files.filter((file) => !file.wasRead).map(({ path }) => path));
      }
      const library =
        servesLibraries && services.length === 0 ? Library.of(details, pkg.entry.id, pkg.files) : undefined;
      return new LoadedKo(pkg, details, services, descriptor, taken, library);
    } catch (thrown) {
      pkg.release();
      throw isTransient(thrown) ? thrown : new Error(messageOf(thrown), { cause: thrown });
    }
  }

  /** None where it deploys nothing; those of a library as far as they are known. */
  get services(): readonly LoadedService[] {
    return this.library === undefined ? this.#services : [this.library.service];
  }

  /** All endpoints that its services declare, in their order. */
  get declared(): { readonly from: LoadedService; readonly entry: DeploymentEntry }[] {
    return this.services.flatMap((from) =>
      [...from.deployment.endpoints.values()].flat().map((entry) => ({ from, entry })),
    );
  }

  /** False where its metadata were given the `@id` of another place: then it does not run. */
  get isAtHome(): boolean {
    return koKey(this.details.id) === this.key;
  }

  /** Bytes of a file of the package, or of the descriptor that is made for a library. */
  sizeOf(path: string): number | undefined {
    return this.package.files.get(path)?.size ?? this.made(path)?.length;
  }

  /** The descriptor that is made for a library, by its path. */
  made(path: string): Buffer | undefined {
    return path === this.library?.file ? Buffer.from(this.library.descriptor) : undefined;
  }

  /** An artifact's bytes, as they were when first asked for: what the shelf stores under a digest never changes. */
  artifact(path: string): Promise<Buffer> {
    const made = this.made(path);
    if (made !== undefined) return Promise.resolve(made);
    let bytes = this.#artifacts.get(path);
    if (bytes === undefined) {
      bytes = this.package.read(path);
      this.#artifacts.set(path, bytes);
      bytes.then(
        () => {
          this.#unread.delete(path);
          if (this.package.digestOf(path) !== undefined) this.#artifacts.delete(path);
        },
        (thrown: unknown) => {
          if (!isTransient(thrown)) return;
          this.#artifacts.delete(path);
          this.#unread.add(path);
        },
      );
    }
    return bytes;
  }

  /** True while something of it could not be read and may be readable later. */
  get isUnread(): boolean {
    return this.#unread.size > 0;
  }

  /** False where its descriptors were taken as known. */
  get wasRead(): boolean {
    return this.#taken.length === 0;
  }

  /** Reads the descriptors. False where they are not what was stored. */
  async isSound(): Promise<boolean> {
    this.retain();
    try {
      for (const path of this.#taken) await this.package.read(path);
      this.#taken = NONE;
      return true;
    } catch (thrown) {
      return isTransient(thrown);
    } finally {
      this.release();
    }
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
    if (this.#users === 0) this.package.release();
  }
}

/** Says nothing about the knowledge object: the same may succeed a little later. */
export const isTransient = (thrown: unknown): thrown is ServiceError =>
  thrown instanceof ServiceError && thrown.status === 503;

async function loadService(
  pkg: KoPackage,
  { folder, of }: DeployedService,
  [serviceFile, deploymentFile]: [DescriptorFile, DescriptorFile],
  known: KnownPackages | undefined,
  reader: DescriptorReader,
): Promise<LoadedService> {
  const parse = async (): Promise<Descriptors> => ({
    service: await reader.service(await serviceFile.text(), serviceFile.path),
    deployment: await reader.deployment(await deploymentFile.text(), deploymentFile.path),
  });
  const key = async (): Promise<string> =>
    digestOf(serviceFile.path, await serviceFile.digest(), deploymentFile.path, await deploymentFile.digest());
  const parsed = await (known === undefined ? parse() : known.descriptors(await key(), parse));
  const { service, deployment } = parsed;
  const { apiVersion } = service;
  return {
    service,
    deployment: withEngineNames(withPackagePaths(deployment, folder, pkg.files)),
    folder,
    of,
    parsed,
    apiVersion: apiVersion !== undefined && isEndpointPart(apiVersion) ? apiVersion : pkg.entry.id.version,
  };
}
