/** The package of a knowledge object as an activator exports it. */
import { join } from 'node:path';
import { type KoSource, openArchiveFile } from '../../src/check/ko-source.ts';
import { temporaryFolder } from '../../src/check/temporary-folder.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../../src/shelf/archive/archive.ts';
import { type ActivatorClient, refusal } from './client.ts';
import { ioFailure } from './exit.ts';

export interface RemotePackage extends AsyncDisposable {
  /** The zip itself. */
  readonly zip: string;
  /** Its files, unpacked under the rules of an import. */
  readonly source: KoSource;
}

/** Undefined where the activator does not have it. @throws CommandFailure when it cannot be had or is no package. */
export async function fetchPackage(client: ActivatorClient, key: string): Promise<RemotePackage | undefined> {
  const folder = await temporaryFolder();
  try {
    const zip = join(folder.path, 'package.zip');
    const answer = await client.download(`/kos/${key}`, 'application/zip', zip, DEFAULT_PACKAGE_LIMITS.zipped);
    if (answer.status === 404) {
      await folder[Symbol.asyncDispose]();
      return undefined;
    }
    if (answer.status !== 200) throw refusal(answer, client, `does not give ${key}`);
    const source = await openArchiveFile(zip, `${client.url}/kos/${key}`);
    if (source.damage !== undefined) {
      await source[Symbol.asyncDispose]();
      throw ioFailure(`What ${client.url} gives for ${key} is no package: ${source.damage}`);
    }
    return {
      zip,
      source,
      async [Symbol.asyncDispose]() {
        await source[Symbol.asyncDispose]();
        await folder[Symbol.asyncDispose]();
      },
    };
  } catch (thrown) {
    await folder[Symbol.asyncDispose]();
    throw thrown;
  }
}
