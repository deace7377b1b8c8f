import type { Config } from '../../config/config.ts';
import type { Logger } from '../../lib/log.ts';
import type { PackageLimits } from '../import/limits.ts';
import type { ManifestImporter } from '../manifest-importer.ts';
import type { Shelf } from '../shelf.ts';

export interface ManifestImporterOptions {
  readonly config: Config;
  readonly shelf: Shelf;
  readonly limits: PackageLimits;
  readonly log: Logger;
}

export function createManifestImporter(_options: ManifestImporterOptions): ManifestImporter {
  const none = () => Promise.resolve([]);
  return { importPosted: none, importPostedList: none, importNamed: none };
}
