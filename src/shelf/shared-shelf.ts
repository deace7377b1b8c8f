/** A shelf that several activators share: what the fleet of them needs of it beside the contract. */
import type { KoId } from '../knowledge-object/id.ts';
import type { Database } from './postgres/database.ts';
import type { NodeId } from './postgres/node-id.ts';
import type { KoPackage, Shelf } from './shelf.ts';

export interface SharedShelf extends Shelf {
  readonly isShared: true;
  readonly database: Database;
  /** This node: what it changes waits for the others, not for itself. */
  readonly node: NodeId;
  /** Of the activation, as this node has read it last. */
  readonly generation: number;
  /** Opens the package of that digest, whether it lies on the shelf or did so once. @throws packageDamaged; shelfNotReadable. */
  openPackage(id: KoId, digest: string): Promise<KoPackage | undefined>;
  /** Hears that this node knows of other changes of the shelf, or of what is active. */
  onChange: () => void;
}

export const isShared = (shelf: Shelf): shelf is SharedShelf => 'isShared' in shelf;
