/**
 * Who makes a change: a store that can keeps the record of the change in the transaction of that change, and says so here,
 * since whoever asked for the change tells the audit of it too.
 */
import type { AuditRecord } from './audit/audit-store.ts';

type Facts = Pick<AuditRecord, 'who' | 'login' | 'requestId' | 'remoteAddress'>;

export class ChangeAuthor {
  /** In the words of the audit. */
  readonly facts: Facts;
  readonly #kept = new Set<string>();

  constructor(facts: Facts) {
    this.facts = facts;
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
