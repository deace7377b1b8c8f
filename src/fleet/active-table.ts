/**
 * What is meant to be active on every node: the tables `active` (which package of each KO) and `activation` (the changes
 * that led there, so that a node makes the same ones).
 */
import type { About } from '../activation/selection.ts';
import type { Change } from '../activation/activator.ts';
import { koKey, nameKey, parseKoId, type KoId, type KoName } from '../knowledge-object/id.ts';
import { koNotFound } from '../lib/errors.ts';
import type { ChangeAuthor } from '../shelf/change-author.ts';
import { appendAudit } from '../shelf/audit/audit-table.ts';
import {
  pagesOf,
  type Database,
  type Dialect,
  type Query,
  type Row,
  type Transaction,
  type Value,
} from '../shelf/store/database.ts';
import { advance, readState } from '../shelf/store/state.ts';
import { someOf } from '../lib/text.ts';
import type { AuditRecord } from '../shelf/audit/audit-store.ts';

/** A change of what is active, with the generation that it led to. */
export interface Activation {
  readonly generation: number;
  readonly change: Change;
  readonly about: About;
}

/** One row of `active`. */
export interface ActiveKo {
  readonly id: KoId;
  /** Of its package: hex. */
  readonly digest: string;
  /** Of the last change that was about it. */
  readonly generation: number;
  /** When it was asked for last that all of it be activated: milliseconds since 1970. */
  readonly at: number;
}

/** Changes that are kept for nodes behind; who is further behind looks at all. */
const KEPT_CHANGES = 1000;
/** Rows that are read at a time. */
const PAGE = 5000;

interface ActiveRow extends Row {
  readonly id: string;
  readonly digest: string;
  readonly generation: number;
  readonly at: number;
}

export class ActiveTable {
  readonly #database: Database;
  readonly #dialect: Dialect;
  readonly #schema: string;

  constructor(database: Database) {
    this.#database = database;
    this.#dialect = database.dialect;
    this.#schema = database.dialect.schema;
  }

  /**
   * Asks all nodes for a change. With a `reload`, what lies on the shelf becomes what is meant to be active. Where several
   * nodes make it, the audit has it, if somebody asked for it; one alone tells what came of it.
   * @returns the generation. @throws koNotFound; an error of the database.
   */
  async order(change: Change, about: About, by?: ChangeAuthor): Promise<number> {
    const author = this.#database.isShared ? by : undefined;
    const generation = await this.#database.transaction(
      async (transaction) => {
        const { query } = transaction;
        const became = author === undefined ? [] : await this.#becomes(query, change, about);
        const generation = await this.orderIn(transaction, change, about);
        if (author !== undefined) await appendAudit(query, this.#database, recordOf(author, change, about, became));
        return generation;
      },
      { isExclusive: true },
    );
    author?.noteKept({ action: change, subject: subjectOf(about) });
    return generation;
  }

  /** As `order`, within an exclusive transaction. */
  async orderIn(transaction: Transaction, change: Change, about: About): Promise<number> {
    const { query } = transaction;
    const schema = this.#schema;
    const { generation } = await advance(query, this.#dialect, await readState(query, this.#dialect), 'generation');
    const touched = await (change === 'reload'
      ? this.#takeShelf(query, about, generation)
      : this.#mark(query, about, generation));
    if (about.what === 'ko' && touched === 0) throw koNotFound(subjectOf(about));
    // Changes of a database that went another way may have later numbers.
    await query(`DELETE FROM ${schema}activation WHERE generation <= $1 OR generation >= $2`, [
      generation - KEPT_CHANGES,
      generation,
    ]);
    await query(`INSERT INTO ${schema}activation (generation, kind, selection) VALUES ($1, $2, $3)`, [
      ...[generation, change, JSON.stringify(about)],
    ]);
    transaction.tellOthers();
    return generation;
  }

  /** The changes after a generation, in order; undefined where that is too long ago to be known. */
  async changes(after: number): Promise<readonly Activation[] | undefined> {
    const { rows } = await this.#database.query<{ generation: number; kind: Change; selection: string }>(
      `SELECT generation, kind, selection FROM ${this.#schema}activation WHERE generation > $1 ORDER BY generation`,
      [after],
    );
    const changes = rows.map(({ generation, kind, selection }) => ({
      ...{ generation, change: kind, about: JSON.parse(selection) as About },
    }));
    const [first] = changes;
    return first !== undefined && first.generation > after + 1 ? undefined : changes;
  }

  /** The key that all nodes sign with: the first one that a node offers. */
  async callKey(offered: Buffer): Promise<Buffer> {
    const { rows } = await this.#database.query<{ call_key: string }>(
      `UPDATE ${this.#schema}state SET call_key = coalesce(call_key, $1) RETURNING call_key`,
      [offered.toString('base64')],
    );
    return Buffer.from(rows[0]?.call_key ?? '', 'base64');
  }

  /** How far the fleet is. */
  async latest(): Promise<{ readonly revision: number; readonly generation: number }> {
    const { rows } = await this.#database.query<{ revision: number; generation: number }>(
      `SELECT revision, generation FROM ${this.#schema}state`,
    );
    return rows[0] ?? { revision: 0, generation: 0 };
  }

  async isActive(id: KoId, digest: string): Promise<boolean> {
    const { rows } = await this.#database.query(
      `SELECT 1 AS found FROM ${this.#schema}active WHERE id = $1 AND digest = $2`,
      [koKey(id), digest],
    );
    return rows.length > 0;
  }

  /** What is meant to be active: all, or the versions of these names. */
  async read(names?: readonly KoName[]): Promise<readonly ActiveKo[]> {
    const which = names === undefined ? '1 = 1' : `name IN (SELECT value FROM ${this.#dialect.texts('$1')})`;
    const select = `SELECT id, digest, generation, at FROM ${this.#schema}active WHERE ${which}`;
    const named = names === undefined ? [] : [JSON.stringify(names.map(nameKey))];
    const found: ActiveKo[] = [];
    for await (const rows of pagesOf<ActiveRow>(this.#database.query, select, 'id', PAGE, named))
      for (const { id: key, ...rest } of rows) {
        const id = parseKoId(key);
        if (id !== undefined) found.push({ id, ...rest });
      }
    return found;
  }

  /** When it was asked for last that all endpoints of an engine be activated again, by its name. */
  async refreshed(): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.#database.query<{ engine: string; at: number }>(
      `SELECT engine, at FROM ${this.#schema}engine_refresh`,
    );
    return new Map(rows.map(({ engine, at }) => [engine, at]));
  }

  /** What a change is going to make active, as far as the audit names it. */
  async #becomes(query: Query, change: Change, about: About): Promise<readonly Became[]> {
    const schema = this.#schema;
    const isReload = change === 'reload';
    if (!isReload && about.what !== 'ko') return [];
    const { condition, values } = this.#conditionOf(about, 'k.');
    const isOther = about.what === 'ko' ? '1 = 1' : 'a.digest IS DISTINCT FROM k.digest';
    const { rows } = await query<{ id: string; digest: string; at_id: string | null }>(
      `SELECT k.id, ${isReload ? 'k.digest' : 'coalesce(a.digest, k.digest)'} AS digest, k.at_id
        FROM ${schema}ko k LEFT JOIN ${schema}active a ON a.id = k.id
        WHERE k.removed = 0 AND ${isOther} AND ${condition} ORDER BY k.id`,
      values,
    );
    return rows.map(({ id, digest, at_id: atId }) => ({ ko: id, digest, atId }));
  }

  /** @returns how many KOs it is about. */
  async #takeShelf(query: Query, about: About, generation: number): Promise<number> {
    const gone = await this.#dropRemoved(query, about);
    return (
      gone +
      (await this.#put(
        query,
        about,
        generation,
        `DO UPDATE
      SET digest = excluded.digest, generation = excluded.generation, at = excluded.at`,
      ))
    );
  }

  /** Packages stay as they are; KOs that are new on the shelf come, and those that left it go. @returns how many KOs it is about. */
  async #mark(query: Query, about: About, generation: number): Promise<number> {
    const schema = this.#schema;
    const { now } = this.#dialect;
    // Of one engine some endpoints of a KO may be concerned, and not others.
    const whole: About = about.what === 'engine' ? { what: 'kos', kos: about.also ?? [] } : about;
    const gone = await this.#dropRemoved(query, whole);
    await this.#put(query, whole, generation, 'DO NOTHING');
    if (about.what === 'engine')
      await query(
        `INSERT INTO ${schema}engine_refresh (engine, at) VALUES ($1, ${now})
          ON CONFLICT (engine) DO UPDATE SET at = excluded.at`,
        [about.engine],
      );
    const { condition, values } = this.#conditionOf(about);
    const time = about.what === 'engine' ? '' : `, at = (SELECT ${now})`;
    const marked = await query(
      `UPDATE ${schema}active SET generation = $${String(values.length + 1)}${time} WHERE ${condition}`,
      [...values, generation],
    );
    return gone + marked.count;
  }

  /** Takes packages from the shelf. @returns how many. */
  async #put(query: Query, about: About, generation: number, onConflict: string): Promise<number> {
    const { condition, values } = this.#conditionOf(about);
    const put = await query(
      `INSERT INTO ${this.#schema}active (id, name, digest, generation, at)
        SELECT id, name, digest, CAST($${String(values.length + 1)} AS BIGINT), (SELECT ${this.#dialect.now})
          FROM ${this.#schema}ko WHERE removed = 0 AND ${condition}
        ON CONFLICT (id) ${onConflict}`,
      [...values, generation],
    );
    return put.count;
  }

  /** @returns how many. */
  async #dropRemoved(query: Query, about: About): Promise<number> {
    const { condition, values } = this.#conditionOf(about);
    const gone = await query(
      `DELETE FROM ${this.#schema}active WHERE ${condition}
        AND NOT EXISTS (SELECT 1 FROM ${this.#schema}ko WHERE ko.id = active.id AND ko.removed = 0)`,
      values,
    );
    return gone.count;
  }

  /** A condition on the columns of an id, whose values are the first ones of the statement. */
  #conditionOf(about: About, table = ''): { readonly condition: string; readonly values: readonly Value[] } {
    switch (about.what) {
      // Which KOs have endpoints of an engine, their packages tell.
      case 'all':
      case 'engine':
        return { condition: '1 = 1', values: [] };
      case 'ko':
        return { condition: `${table}${about.version === undefined ? 'name' : 'id'} = $1`, values: [subjectOf(about)] };
      case 'kos':
        return {
          condition: `${table}id IN (SELECT value FROM ${this.#dialect.texts('$1')})`,
          values: [JSON.stringify(about.kos.map(koKey))],
        };
    }
  }
}

/** Of KOs that a change is about; undefined where it may be about any. */
export function namesOf(about: About): readonly KoName[] | undefined {
  if (about.what === 'ko') return [{ naan: about.naan, name: about.name }];
  return about.what === 'kos' ? about.kos : undefined;
}

/** A KO of which a change makes a package active. */
interface Became {
  /** `<naan>/<name>/<version>`. */
  readonly ko: string;
  /** Of the package: hex. */
  readonly digest: string;
  readonly atId: string | null;
}

/** KOs that a record names. */
const MOST_NAMED = 100;

/** What a change is about, in the words of the audit: as the request named it. */
function subjectOf(about: About): string {
  switch (about.what) {
    case 'all':
      return 'all';
    case 'engine':
      return about.engine;
    case 'ko':
      return [about.naan, about.name, about.version].filter((part) => part !== undefined).join('/');
    case 'kos':
      return someOf(about.kos.map(koKey), MOST_NAMED);
  }
}

/** `became`: of a KO that was named all that is active, of others what is another package than before. */
function recordOf(author: ChangeAuthor, action: Change, about: About, became: readonly Became[]): AuditRecord {
  const [first] = became;
  const atIds = became.flatMap(({ ko, atId }) => (atId === null ? [] : [`${ko} ${atId}`]));
  const isOne = about.what === 'ko' && became.length === 1;
  return {
    ...author.facts,
    action,
    subject: subjectOf(about),
    ...(isOne && first?.atId != null && { atId: first.atId }),
    ...(!isOne && atIds.length > 0 && { atId: someOf(atIds, MOST_NAMED) }),
    ...(isOne && first !== undefined && { digest: first.digest }),
    ...(!isOne &&
      became.length > 0 && {
        digests: someOf(
          became.map(({ ko, digest }) => `${ko} ${digest}`),
          MOST_NAMED,
        ),
      }),
    outcome: 'done',
  };
}
