/**
 * The knowledge objects that are to be active, and their packages: all that lie on the shelf of one activator; what
 * several activators agreed on, where they share a shelf.
 */
import type { Shelf } from '../shelf/shelf.ts';

export type ActiveKos = Pick<Shelf, 'list' | 'versions' | 'open' | 'rescan' | 'readAgain' | 'damage'>;
