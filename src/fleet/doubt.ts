/**
 * That the database is another than the one that nodes knew, as a standby is that lacked changes when it took over: kept in
 * the database, so that all nodes say it until an operator has looked at it.
 */
import { appendAudit } from '../shelf/audit/audit-table.ts';
import type { Database } from '../shelf/store/database.ts';

export class Doubt {
  readonly #database: Database;
  #cause: string | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** As this node knows it. */
  get cause(): string | undefined {
    return this.#cause;
  }

  heard(cause: string | null): void {
    this.#cause = cause ?? undefined;
  }

  /** The first node that says it leaves it in the audit. @throws an error of the database. */
  async note(cause: string, node: string): Promise<void> {
    const { schema } = this.#database.dialect;
    await this.#database.transaction(
      async (transaction) => {
        const { query } = transaction;
        const { count } = await query(`UPDATE ${schema}state SET doubt = $1 WHERE doubt IS NULL`, [cause]);
        if (count === 0) return;
        await appendAudit(query, this.#database, {
          ...{ who: 'kgrid-activator', login: 'service', action: 'take other history', subject: node, reason: cause },
          ...{ outcome: 'done', requestId: '', remoteAddress: '' },
        });
        transaction.tellOthers();
      },
      { isExclusive: true },
    );
  }

  /** @returns whether there was one. @throws an error of the database. */
  async clear(): Promise<boolean> {
    const { schema } = this.#database.dialect;
    const { count } = await this.#database.transaction(
      ({ query }) => query(`UPDATE ${schema}state SET doubt = NULL WHERE doubt IS NOT NULL`),
      { isExclusive: true },
    );
    this.#cause = undefined;
    return count > 0;
  }
}
