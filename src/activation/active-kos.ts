/**
 * The knowledge objects that are to be active, and their packages: all that lie on the shelf of one activator; what
 * several activators agreed on, where they share a shelf.
 */
import type { KoId } from '../knowledge-object/id.ts';
import type { Shelf } from '../shelf/shelf.ts';

/** `digest`: of its package, where that is known without opening it. */
export interface ListedKo {
  readonly id: KoId;
  readonly digest?: string;
}

export interface ActiveKos extends Pick<Shelf, 'open' | 'rescan' | 'readAgain' | 'damage'> {
  list(): Promise<readonly ListedKo[]>;
  /** Those of one KO, oldest first. */
  versions(naan: string, name: string): Promise<readonly ListedKo[]>;
  /**
   * When it was asked for that an endpoint be activated, where several activators do that: milliseconds since 1970. Without
   * it, an endpoint was activated when that was done here.
   */
  activated?(id: KoId, engine: string): number | undefined;
}
