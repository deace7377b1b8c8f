/** What the operations of the Shelf API work on. */
import type { Activator } from '../../activation/activator.ts';
import type { ImportTarget } from '../../shelf/import/import-zip.ts';
import type { ManifestImporter } from '../../shelf/manifest-importer.ts';
import type { KoLists } from './ko-lists.ts';

export interface KoParts extends ImportTarget {
  readonly manifests: ManifestImporter;
  readonly activator: Activator;
}

export interface KoContext extends KoParts {
  readonly lists: KoLists;
}
