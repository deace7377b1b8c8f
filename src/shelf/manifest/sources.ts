import { HttpClient } from './http-client.ts';
import type { OpenedLocation } from './http-client.ts';
import type { Lookup } from './addresses.ts';
import { openBeside } from './open-beside.ts';
import { openFile } from './open-file.ts';
import type { FilePolicy } from './open-file.ts';
import { isHttp } from './parse-manifest.ts';

/** Where whoever gave a manifest may have it lead. */
export interface LocationPolicy {
  readonly files: FilePolicy;
  readonly privateAddresses: boolean;
}

export interface SourceOptions {
  readonly policy: LocationPolicy;
  readonly redirects: number;
  /** Aborted once the service stops. */
  readonly stopped?: AbortSignal | undefined;
  /** For tests. */
  readonly lookup?: Lookup | undefined;
}

/** Opens the locations of manifests under one policy. */
export class Sources implements AsyncDisposable {
  readonly #http: HttpClient;
  readonly #files: FilePolicy;

  constructor({ policy, redirects, lookup, stopped }: SourceOptions) {
    this.#files = policy.files;
    this.#http = new HttpClient({ privateAddresses: policy.privateAddresses, redirects, lookup, stopped });
  }

  /**
   * @param beside the manifest whose folder it may not leave; a folder there is given as a zip.
   * @throws importRefused and what the system or undici throws. The signal also ends the content of the web.
   */
  async open(url: URL, accept: string, signal: AbortSignal, beside?: URL): Promise<OpenedLocation> {
    const opened = isHttp(url)
      ? await this.#http.get(url, accept, signal)
      : {
          content: await (beside === undefined ? openFile(url, this.#files) : openBeside(url, beside, this.#files)),
          url,
        };
    // It may fail before its reader comes, who then finds it failed.
    opened.content.on('error', () => undefined);
    return opened;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#http[Symbol.asyncDispose]();
  }
}
