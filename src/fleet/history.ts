/**
 * Whether the database is the one that this node knew, or another one, as a standby is that lacked changes when it took over.
 * What a node knew is in a file of its own; that it is another one is kept in the database, so that all nodes say it until an
 * operator has looked at it.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { appendAudit } from '../shelf/audit/audit-table.ts';
import type { Database } from '../shelf/store/database.ts';
import { continues, lastOf, readState, type Known } from '../shelf/store/state.ts';

export class History {
  readonly #database: Database;
  readonly #file: string | undefined;
  #noted = '';
  #doubt: string | undefined;

  /** @param file undefined where nothing can be kept. */
  constructor(database: Database, file: string | undefined) {
    this.#database = database;
    this.#file = file;
  }

  /** Why an operator is to look at what the database has lost, as this node knows it. */
  get doubt(): string | undefined {
    return this.#doubt;
  }

  heard(doubt: string | null): void {
    this.#doubt = doubt ?? undefined;
  }

  /** Notes how far this node knows the database. Never rejects. */
  async note({ number, mark }: Known): Promise<void> {
    const text = `${String(number)} ${mark ?? ''}\n`;
    if (this.#file === undefined || mark === undefined || text === this.#noted) return;
    this.#noted = text;
    await writeFile(this.#file, text).catch(() => (this.#noted = ''));
  }

  /** Why the database does not go on from where this node left it when it ended, where it does not. @throws an error of the database. */
  async compare(): Promise<string | undefined> {
    const text = this.#file === undefined ? '' : await readFile(this.#file, 'utf8').catch(() => '');
    const [, number, mark] = /^(\d+) (\S+)\n$/.exec(text) ?? [];
    const state = await readState(this.#database.query, this.#database.dialect);
    if (number === undefined || continues(state, { number: Number(number), mark }) !== false) return undefined;
    return `it is at change ${String(lastOf(state).number)}, and does not go on from change ${number}, which this node knew when it ended`;
  }

  /** The first node that says it leaves it in the audit. @throws an error of the database. */
  async tell(doubt: string, node: string): Promise<void> {
    const { schema } = this.#database.dialect;
    await this.#database.transaction(
      async ({ query, tellOthers }) => {
        const { count } = await query(`UPDATE ${schema}state SET doubt = $1 WHERE doubt IS NULL`, [doubt]);
        if (count === 0) return;
        await appendAudit(query, this.#database, {
          ...{ who: 'kgrid-activator', login: 'service', action: 'take other history', subject: node, reason: doubt },
          ...{ outcome: 'done', requestId: '', remoteAddress: '' },
        });
        tellOthers();
      },
      { isExclusive: true },
    );
  }

  /** An operator has looked. @returns whether there was something to look at. @throws an error of the database. */
  async confirm(): Promise<boolean> {
    const { schema } = this.#database.dialect;
    const { count } = await this.#database.transaction(
      ({ query }) => query(`UPDATE ${schema}state SET doubt = NULL WHERE doubt IS NOT NULL`),
      { isExclusive: true },
    );
    this.#doubt = undefined;
    return count > 0;
  }
}
