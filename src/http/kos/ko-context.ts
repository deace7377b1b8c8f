/** What the operations of the Shelf API work on. */
import type { Activator } from '../../activation/activator.ts';
import type { ImportTarget } from '../../shelf/import/import-zip.ts';
import type { ManifestImporter } from '../../shelf/manifest-importer.ts';
import type { ServiceEvents } from '../events/service-events.ts';
import type { KoLists } from './ko-lists.ts';

export interface KoParts extends ImportTarget {
  readonly manifests: ManifestImporter;
  readonly activator: Activator;
  /** Are told how far an import has come. */
  readonly events: Pick<ServiceEvents, 'tell'>;
}

export interface KoContext extends KoParts {
  readonly lists: KoLists;
}
