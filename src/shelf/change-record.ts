/** The audit record of a change of the shelf, which is kept in the transaction of that change. */
import { koKey, type KoId } from '../knowledge-object/id.ts';
import type { AuditRecord } from './audit/audit-store.ts';
import type { ChangeAuthor } from './change-author.ts';
import type { ShelfEntry } from './shelf.ts';

/** In the words of the audit. */
export type ChangeAction = 'import' | 'replace metadata' | 'delete' | 'restore';

export function changeRecord(
  author: ChangeAuthor,
  action: ChangeAction,
  id: KoId,
  before: ShelfEntry | undefined,
  after: ShelfEntry | undefined,
): AuditRecord {
  const atId = (after ?? before)?.atId;
  const digest = (after ?? before)?.digest;
  const isOther = before !== undefined && after !== undefined && before.digest !== after.digest;
  return {
    ...author.facts,
    action,
    subject: koKey(id),
    ...(atId !== undefined && { atId }),
    ...(digest !== undefined && { digest }),
    ...(isOther && { Replaced: `sha256:${before.digest}, sha256:${after.digest}` }),
    outcome: 'done',
  };
}
