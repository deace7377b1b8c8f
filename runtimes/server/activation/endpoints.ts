/** The endpoints of this runtime: which are active, and what the activator is told of them. */
import { posix } from 'node:path';
import type { HostedCode, HostedEndpoint, WantedCode } from '../../../src/engines/supervisor/hosted-code.ts';
import type { Progress } from './activations.ts';
import type { Descriptor } from './descriptor.ts';

/** An endpoint as the activator is told of it. */
export interface EndpointAnswer {
  readonly id: string;
  readonly uri: string;
  readonly engine: string;
  readonly baseUrl: string;
  /** ISO 8601. */
  readonly activated: string;
  readonly status: 'Activated';
  /** It takes many calls in one request; see `http/calls-in-one-request.ts`. */
  readonly batch: true;
}

export interface Endpoint {
  readonly hosted: HostedEndpoint;
  readonly answer: EndpointAnswer;
  readonly descriptor: Descriptor;
}

export interface EndpointsParts {
  readonly engine: string;
  readonly code: HostedCode;
  /** Fetches an artifact from its activator; nothing of one that is optional and not there. */
  readonly fetch: (baseUrl: URL, path: string, isOptional: boolean) => Promise<Buffer>;
  /** A file at the root of a knowledge object that need not be among its artifacts. */
  readonly besideArtifacts: string | undefined;
  /** What has a checksum that is known is not fetched again. */
  readonly trustsChecksums: boolean;
  /** This runtime's own address. */
  readonly url: () => string;
}

export class Endpoints {
  readonly #parts: EndpointsParts;
  readonly #active = new Map<string, Endpoint>();

  constructor(parts: EndpointsParts) {
    this.#parts = parts;
  }

  get(uri: string): Endpoint | undefined {
    return this.#active.get(uri);
  }

  get all(): readonly Endpoint[] {
    return [...this.#active.values()];
  }

  /** @throws ActivationFailure; the endpoint is then as it was before. */
  async activate(descriptor: Descriptor, progress: Progress): Promise<EndpointAnswer> {
    const { uri } = descriptor;
    const hosted = await this.#parts.code.activate(this.#wantedBy(descriptor), progress);
    const answer = {
      id: uri,
      uri,
      engine: this.#parts.engine,
      baseUrl: this.#parts.url(),
      activated: new Date().toISOString(),
      status: 'Activated' as const,
      batch: true as const,
    };
    const before = this.#active.get(uri);
    this.#active.set(uri, { hosted, answer, descriptor });
    before?.hosted.release();
    return answer;
  }

  /** Lets go of its code, whose calls come to their end. False when it was not active. */
  deactivate(uri: string): boolean {
    const endpoint = this.#active.get(uri);
    endpoint?.hosted.release();
    return this.#active.delete(uri);
  }

  #wantedBy(descriptor: Descriptor): WantedCode {
    const { uri, ko, checksum, entry, baseUrl, installs } = descriptor;
    const { besideArtifacts: beside, trustsChecksums, fetch } = this.#parts;
    const isBeside = beside !== undefined && !descriptor.artifacts.some((path) => posix.basename(path) === beside);
    return {
      ...{ uri, ko, entry, installs },
      checksum: trustsChecksums ? checksum : undefined,
      artifacts: isBeside ? [...descriptor.artifacts, beside] : descriptor.artifacts,
      function: descriptor.function,
      read: (path) => fetch(baseUrl, path, isBeside && path === beside),
    };
  }
}
