/** A shelf as the activators need it that share it, or the one that has it for itself: its database beside the contract. */
import type { KoId } from '../knowledge-object/id.ts';
import type { KoPackage, Shelf } from './shelf.ts';
import type { Database } from './store/database.ts';
import type { Objects } from './store/objects.ts';
import type { NodeId } from './store/node-id.ts';

export interface SharedShelf extends Shelf {
  readonly database: Database;
  readonly objects: Objects;
  /** This node: what it changes waits for the others, not for itself. */
  readonly node: NodeId;
  /** How far this process has read the database. */
  readonly reached: { readonly revision: number; readonly generation: number };
  /** Revision at which it was opened: what has a later one before anybody asks for a change was put there by hand. */
  readonly openedAt: number;
  /** Opens the package of that digest, on the shelf or active. @throws packageDamaged; shelfNotReadable. */
  openPackage(id: KoId, digest: string): Promise<KoPackage | undefined>;
  /** Hears that another process changed the shelf, or what is active. */
  onChange: () => void;
  /** Hears that the database is not the one it was, but one that went another way. */
  onOtherHistory: (why: string) => void;
}
