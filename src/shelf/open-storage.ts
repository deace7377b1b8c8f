/** All that lies at rest: the shelf, the audit, and what an activator keeps for itself. */
import { resolve } from 'node:path';
import type { AuditStore } from './audit/audit-store.ts';
import { AuditTable } from './audit/audit-table.ts';
import { openShelf, storeAt, type ShelfOptions } from './stores.ts';
import type { StoredShelf } from './store/stored-shelf.ts';
import { takeOverAudit } from './store/upgrade/take-over-audit.ts';
import { openState, type StateFolder } from './state-folder.ts';

export interface Storage extends AsyncDisposable {
  readonly shelf: StoredShelf;
  readonly state: StateFolder;
  /** Undefined where none can be kept. */
  readonly audit: AuditStore | undefined;
}

export interface StorageOptions extends Omit<ShelfOptions, 'copies' | 'onWarning'> {
  readonly location: string;
  /** Folder of the state; undefined: the one that belongs to the shelf. */
  readonly folder: string | undefined;
  /** Bytes of the audit. */
  readonly maxAudit: number;
  readonly onWarning: (message: string, cause?: unknown) => void;
}

/** @throws startRefused. */
export async function openStorage({ location, folder, maxAudit, ...options }: StorageOptions): Promise<Storage> {
  await using owned = new AsyncDisposableStack();
  const { address, fleet, onWarning } = options;
  const openFolder = (): Promise<StateFolder> => openState({ shelf: location, folder, fleet, address, onWarning });
  // In its own folder, whoever has the shelf has its state; elsewhere, the shelf may need a place for copies.
  const isElsewhere = folder !== undefined || storeAt(location).folderAt(location) === undefined;
  const first = isElsewhere ? owned.use(await openFolder()) : undefined;
  const stateFolder = folder === undefined ? undefined : resolve(folder);
  const shelf = owned.use(await openShelf(location, { ...options, copies: first?.copies, state: stateFolder }));
  const state = first ?? owned.use(await openFolder());
  const audit = await openAudit(shelf, state, maxAudit);
  const all = owned.move();
  return { shelf, state, audit, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function openAudit(shelf: StoredShelf, state: StateFolder, most: number): Promise<AuditStore | undefined> {
  if (!shelf.keepsAudit) return undefined;
  if (state.audit !== undefined && !shelf.database.isShared) await takeOverAudit(shelf.database, state.audit);
  return new AuditTable(shelf.database, most);
}
