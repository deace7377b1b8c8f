/** A knowledge object as it was read from the shelf: what a refresh activates again without reading anew. */
import { withEngineNames } from '../engines/table.ts';
import { readHere } from '../knowledge-object/descriptors/descriptor-reader.ts';
import type { DescriptorReader } from '../knowledge-object/descriptors/descriptor-reader.ts';
import type { Deployment } from '../knowledge-object/descriptors/deployment.ts';
import type { Service } from '../knowledge-object/descriptors/service.ts';
import { isEndpointPart, koKey } from '../knowledge-object/id.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { parseMetadata } from '../knowledge-object/metadata.ts';
import type { KoMetadata } from '../knowledge-object/metadata.ts';
import { messageOf, ServiceError } from '../lib/errors.ts';
import { digestOf } from '../lib/digest.ts';
import type { KoPackage } from '../shelf/shelf.ts';

import type { Descriptors, KnownPackages } from './known-packages.ts';

export class LoadedKo {
  readonly id: KoId;
  readonly key: string;
  /** The metadata as JSON text, as it was loaded. */
  readonly metadata: string;
  readonly details: KoMetadata;
  readonly service: Service;
  readonly deployment: Deployment;
  readonly package: KoPackage;
  /** Code is read once, so that an exploded folder which a person edits changes nothing before a reload. */
  readonly #artifacts = new Map<string, Promise<Buffer>>();
  /** Artifacts that could not be read when they were asked for last, for a reason that passes. */
  readonly #unread = new Set<string>();
  #users = 0;

  private constructor(pkg: KoPackage, details: KoMetadata, service: Service, deployment: Deployment) {
    this.package = pkg;
    this.id = pkg.entry.id;
    this.key = koKey(this.id);
    this.metadata = details.text;
    this.details = details;
    this.service = service;
    this.deployment = deployment;
  }

  /** Reads metadata and descriptors. The package is released when it fails. @throws Error with the cause for the operator; tooManyOpen. */
  static async load(pkg: KoPackage, known?: KnownPackages, reader: DescriptorReader = readHere): Promise<LoadedKo> {
    try {
      const details = parseMetadata(pkg.entry.metadata);
      const service = await readDescriptor(pkg, details.hasServiceSpecification, 'hasServiceSpecification');
      const deployment = await readDescriptor(pkg, details.hasDeploymentSpecification, 'hasDeploymentSpecification');
      const parse = async (): Promise<Descriptors> => ({
        service: await reader.service(service.text, service.path),
        deployment: await reader.deployment(deployment.text, deployment.path),
      });
      const key = digestOf(service.path, service.text, deployment.path, deployment.text);
      const descriptors = await (known === undefined ? parse() : known.descriptors(key, parse));
      return new LoadedKo(pkg, details, descriptors.service, withEngineNames(descriptors.deployment));
    } catch (thrown) {
      pkg.release();
      throw isTransient(thrown) ? thrown : new Error(messageOf(thrown), { cause: thrown });
    }
  }

  /** Of its endpoints: `info.version` of the service descriptor, or the KO version where that is missing or no version. */
  get apiVersion(): string {
    const { apiVersion } = this.service;
    return apiVersion !== undefined && isEndpointPart(apiVersion) ? apiVersion : this.id.version;
  }

  /** An artifact's bytes, as they were when first asked for. */
  artifact(path: string): Promise<Buffer> {
    let bytes = this.#artifacts.get(path);
    if (bytes === undefined) {
      bytes = this.package.read(path);
      this.#artifacts.set(path, bytes);
      bytes.then(
        () => this.#unread.delete(path),
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

async function readDescriptor(
  pkg: KoPackage,
  path: string | undefined,
  field: string,
): Promise<{ path: string; text: string }> {
  if (path === undefined)
    throw new Error(`metadata.json has no ${field}: add the path of that descriptor in the package`);
  if (!pkg.files.has(path)) throw new Error(`${path} is not in the package, but metadata.json names it as ${field}`);
  return { path, text: (await pkg.read(path)).toString('utf8') };
}
