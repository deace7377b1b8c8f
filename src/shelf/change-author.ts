/**
 * Who makes a change: a store that can keeps the record of the change in the transaction of that change, and says so here,
 * since whoever asked for the change tells the audit of it too.
 */
import { koKey, type KoId } from '../knowledge-object/id.ts';
import type { AuditRecord } from './audit/audit-store.ts';
import type { ShelfEntry } from './shelf.ts';

type Facts = Pick<AuditRecord, 'who' | 'login' | 'requestId' | 'remoteAddress'>;

export class ChangeAuthor {
  /** In the words of the audit. */
  readonly facts: Facts;
  readonly #kept = new Set<string>();

  readonly #require: (id: KoId) => void;

  /** `require`: throws where the author may not change this knowledge object. */
  constructor(facts: Facts, require: (id: KoId) => void = () => undefined) {
    this.facts = facts;
    this.#require = require;
  }

  /** For a package whose place is known only once it was read. @throws notAuthorized. */
  requireMayChange(id: KoId): void {
    this.#require(id);
  }

  /** The record of that change is kept already. */
  noteKept({ action, subject }: Pick<AuditRecord, 'action' | 'subject'>): void {
    this.#kept.add(`${action} ${subject}`);
  }

  /** Whether the record was kept with its change; of each once. */
  wasKept({ action, subject, outcome }: AuditRecord): boolean {
    return outcome === 'done' && this.#kept.delete(`${action} ${subject}`);
  }
}

/** In the words of the audit. */
export type ChangeAction = 'import' | 'replace metadata' | 'delete' | 'restore';

/** The audit record of a change of the shelf. */
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
