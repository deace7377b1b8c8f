/** What code of the engine `python` depends on, by pip. */
import { stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Network } from '../network/network.ts';
import type { Installed, Installer, Progress, StoredCode, WantedCode } from '../supervisor/hosted-code.ts';
import type { Cache } from '../supervisor/packages/cache.ts';
import { InstallerProcess } from './installer-process.ts';
import type { InstallerOptions } from './installer-process.ts';

export interface PythonInstallerOptions extends Omit<InstallerOptions, 'cache'> {
  readonly network?: Pick<Network, 'permissionOf'> | undefined;
}

export class PythonInstaller implements Installer {
  readonly #process: InstallerProcess;
  readonly #network: PythonInstallerOptions['network'];

  constructor(cache: Cache, { network, ...options }: PythonInstallerOptions) {
    this.#network = network;
    this.#process = new InstallerProcess({ ...options, cache: cache.folder });
  }

  variantOf(): string {
    return '';
  }

  async install({ wanted, key, root }: StoredCode, progress: Progress): Promise<Installed> {
    const named = requirementsOf(wanted.artifacts);
    const requirements = named !== undefined && (await stat(join(root, named))).size > 0 ? named : undefined;
    const { ko, installs } = wanted;
    const isPlain = installs === undefined;
    const network = this.#network?.permissionOf(ko);
    const { folders, module } =
      isPlain && requirements === undefined
        ? { folders: [], module: undefined }
        : await this.#process.install({ ko, key, root, requirements, installs, network }, progress);
    const folder = isPlain ? posix.dirname(wanted.entry) : '';
    const code = {
      entryFolder: folder === '.' ? '' : folder,
      installed: folders,
      ownPackage: module?.split('.')[0] ?? null,
    };
    // What an import finds depends on these.
    return { folders, apart: JSON.stringify(code), more: module === undefined ? code : { ...code, module } };
  }

  explain(problem: string): Promise<string> {
    return Promise.resolve(problem);
  }

  kill(): void {
    this.#process.kill();
  }
}

const REQUIREMENTS = 'requirements.txt';

/** The path that is nearest to the root, of those among the artifacts. */
const requirementsOf = (artifacts: readonly string[]): string | undefined =>
  artifacts.filter((path) => posix.basename(path) === REQUIREMENTS).sort((a, b) => a.length - b.length)[0];

/** With the `requirements.txt` at the root of the package, which need not be deployed. */
export function withRequirements(
  artifacts: WantedCode['artifacts'],
  files: { get(path: string): unknown },
): readonly string[] {
  const isThere = requirementsOf(artifacts) === undefined && files.get(REQUIREMENTS) !== undefined;
  return isThere ? [...artifacts, REQUIREMENTS] : artifacts;
}
