/** What the operations of the Shelf API work on. */
import type { ImportOptions } from './import-routes.ts';
import type { KoLists } from './ko-lists.ts';

export interface KoContext extends ImportOptions {
  readonly lists: KoLists;
}
