/** "Every write, activation and registration leaves one audit line: who, what, digest, outcome." */
import { messageOf } from '../lib/errors.ts';
import type { AuditRecord, AuditStore } from './audit-store.ts';
import { wasKept } from './change-author.ts';

/** The part of a log that the audit needs. */
export interface AuditLog {
  readonly level: string;
  child(bindings: object, options: { level: string }): AuditLog;
  info(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** The one writer of the audit: always the line in the log, and the store of the shelf where it has one. */
export class Audit {
  readonly #log: AuditLog;
  readonly #lines: AuditLog;
  readonly #store: AuditStore | undefined;

  constructor(log: AuditLog, store: AuditStore | undefined) {
    this.#log = log;
    // Audit lines are written at every log level but silence.
    this.#lines = log.child({ audit: true }, { level: log.level === 'silent' ? 'silent' : 'info' });
    this.#store = store;
  }

  /** The log may lose lines where its reader stalls; the store has them all the same. */
  write(record: AuditRecord): void {
    this.#lines.info(record, 'audit');
    if (wasKept(record)) return;
    try {
      const kept = this.#store?.append(record);
      if (kept !== undefined) kept.catch((thrown: unknown) => this.#notKept(record, thrown));
    } catch (thrown) {
      this.#notKept(record, thrown);
    }
  }

  #notKept({ requestId }: AuditRecord, thrown: unknown): void {
    this.#log.error(
      { event: 'audit-not-kept', requestId, cause: messageOf(thrown) },
      'an audit record could not be kept: only this log has it',
    );
  }
}
