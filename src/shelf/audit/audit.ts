/** "Every write, activation and registration leaves one audit line: who, what, digest, outcome." */
import { messageOf } from '../../lib/errors.ts';
import type { AuditRecord, AuditStore } from './audit-store.ts';
import type { ChangeAuthor } from '../change-author.ts';

/** The part of a log that the audit needs. */
export interface AuditLog {
  readonly level: string;
  child(bindings: object, options: { level: string }): AuditLog;
  info(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** Records that may be on their way to the store, as while its database is slow or away. */
const MOST_PENDING = 1000;

/** The one writer of the audit: always the line in the log, and the store of the shelf where it has one. */
export class Audit {
  readonly #log: AuditLog;
  readonly #lines: AuditLog;
  readonly #store: AuditStore | undefined;
  readonly #pending = new Set<Promise<void>>();
  /** Records that the store was not given since too many were on their way. */
  #dropped = 0;
  /** Records that could not be kept, so far. */
  lost = 0;

  constructor(log: AuditLog, store: AuditStore | undefined) {
    this.#log = log;
    // Audit lines are written at every log level but silence.
    this.#lines = log.child({ audit: true }, { level: log.level === 'silent' ? 'silent' : 'info' });
    this.#store = store;
  }

  /** The log may lose lines where its reader stalls; the store has them all the same. `author`: of the change, if it is one. */
  write(record: AuditRecord, author?: ChangeAuthor): void {
    this.#lines.info(record, 'audit');
    if (author?.wasKept(record) === true || this.#store === undefined) return;
    if (this.#pending.size >= MOST_PENDING) {
      this.#dropped++;
      this.lost++;
      return;
    }
    const settled = this.#store
      .append(record)
      .catch((thrown: unknown) => this.#notKept(record, thrown))
      .then(() => {
        this.#pending.delete(settled);
        this.#tellDropped();
      });
    this.#pending.add(settled);
  }

  /** Resolves when nothing is on its way any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }

  /** Once for all of them, when there is room again. */
  #tellDropped(): void {
    if (this.#dropped === 0 || this.#pending.size > MOST_PENDING / 2) return;
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#log.error(
      { event: 'audit-not-kept', dropped, cause: `more than ${MOST_PENDING} records were on their way` },
      'audit records could not be kept: only this log has them',
    );
  }

  #notKept({ requestId }: AuditRecord, thrown: unknown): void {
    this.lost++;
    this.#log.error(
      { event: 'audit-not-kept', requestId, cause: messageOf(thrown) },
      'an audit record could not be kept: only this log has it',
    );
  }
}
