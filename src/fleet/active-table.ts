/**
 * What is meant to be active on every node: the tables `active` (which package of each KO) and `activation` (the changes
 * that led there, so that a node makes the same ones).
 */
import type { About } from '../activation/selection.ts';
import type { Change } from '../activation/activator.ts';
import { recordOf, subjectOf } from './audited-change.ts';
import type { Became } from './audited-change.ts';
import type { KoId, KoName } from '../knowledge-object/id.ts';
import { koNotFound } from '../lib/errors.ts';
import { currentAuthor, noteKept } from '../shelf/change-author.ts';
import { appendAudit } from '../shelf/postgres/audit-rows.ts';
import type { Database, Query, Transaction } from '../shelf/postgres/database.ts';
import type { NodeId } from '../shelf/postgres/node-id.ts';

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

interface Row {
  readonly naan: string;
  readonly name: string;
  readonly version: string;
  readonly digest: string;
  readonly generation: number;
  readonly at: number;
}

/** Milliseconds since 1970, with their fraction. */
const millisecondsOf = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;

export class ActiveTable {
  readonly #database: Database;
  readonly #schema: string;
  readonly #node: NodeId;

  /** `node`: this one. */
  constructor(database: Database, node: NodeId) {
    this.#database = database;
    this.#node = node;
    this.#schema = database.schema;
  }

  /**
   * Asks all nodes for a change. With a `reload`, what lies on the shelf becomes what is meant to be active.
   * The audit has it, where somebody asked for it. @returns the generation. @throws koNotFound; DatabaseError.
   */
  async order(change: Change, about: About): Promise<number> {
    const author = currentAuthor();
    const generation = await this.#database.transaction(async (transaction) => {
      const { query } = transaction;
      const became = author === undefined ? [] : await this.#becomes(query, change, about);
      const generation = await this.orderIn(transaction, change, about);
      if (author !== undefined)
        await appendAudit(query, this.#schema, this.#node.value, recordOf(author, change, about, became));
      return generation;
    });
    noteKept({ action: change, subject: subjectOf(about) });
    return generation;
  }

  /** As `order`, within a transaction. */
  async orderIn({ query }: Transaction, change: Change, about: About): Promise<number> {
    const schema = this.#schema;
    // The row is locked until the end, so that generations come one after the other.
    const { rows } = await query<{ generation: number }>(
      `UPDATE ${schema}.state SET generation = generation + 1 RETURNING generation`,
    );
    const generation = rows[0]?.generation ?? 0;
    const touched = change === 'reload' ? await this.#takeShelf(query, about, generation) : undefined;
    const refreshed = change === 'refresh' ? await this.#mark(query, about, generation) : 0;
    if (about.what === 'ko' && (touched ?? refreshed) === 0)
      throw koNotFound([about.naan, about.name, about.version].filter((part) => part !== undefined).join('/'));
    // In one statement: all other changes wait for this one.
    await query(
      `WITH gone AS (DELETE FROM ${schema}.activation WHERE generation <= $4)
        INSERT INTO ${schema}.activation (generation, kind, selection) VALUES ($1, $2, $3)
        RETURNING pg_notify($5, 'activation') IS NULL AS told`,
      [generation, change, JSON.stringify(about), generation - KEPT_CHANGES, this.#database.channel.slice(1, -1)],
    );
    return generation;
  }

  /** The changes after a generation, in order; undefined where that is too long ago to be known. */
  async changes(after: number): Promise<readonly Activation[] | undefined> {
    const { rows } = await this.#database.query<{ generation: number; kind: Change; selection: About }>(
      `SELECT generation, kind, selection FROM ${this.#schema}.activation WHERE generation > $1 ORDER BY generation`,
      [after],
    );
    const changes = rows.map(({ generation, kind, selection }) => ({ generation, change: kind, about: selection }));
    const [first] = changes;
    return first !== undefined && first.generation > after + 1 ? undefined : changes;
  }

  /** The key that all nodes sign with: the first one that a node offers. */
  async callKey(offered: Buffer): Promise<Buffer> {
    const { rows } = await this.#database.query<{ call_key: Buffer }>(
      `UPDATE ${this.#schema}.state SET call_key = coalesce(call_key, $1) RETURNING call_key`,
      [offered],
    );
    return rows[0]?.call_key ?? offered;
  }

  /** That of the last change. */
  async generation(query: Query = this.#database.query): Promise<number> {
    const { rows } = await query<{ generation: number }>(`SELECT generation FROM ${this.#schema}.state`);
    return rows[0]?.generation ?? 0;
  }

  /** How far the fleet is. */
  async latest(): Promise<{ readonly revision: number; readonly generation: number }> {
    const { rows } = await this.#database.query<{ revision: number; generation: number }>(
      `SELECT revision, generation FROM ${this.#schema}.state`,
    );
    return rows[0] ?? { revision: 0, generation: 0 };
  }

  async isActive({ naan, name, version }: KoId, digest: string): Promise<boolean> {
    const { rows } = await this.#database.query(
      `SELECT 1 FROM ${this.#schema}.active WHERE naan = $1 AND name = $2 AND version = $3 AND digest = $4`,
      [naan, name, version, digest],
    );
    return rows.length > 0;
  }

  /** What is meant to be active: all, or the versions of these names. */
  async read(names?: readonly KoName[], query: Query = this.#database.query): Promise<readonly ActiveKo[]> {
    const which = names === undefined ? '' : 'WHERE (naan, name) IN (SELECT * FROM unnest($1::text[], $2::text[]))';
    const { rows } = await query<Row & Record<string, unknown>>(
      `SELECT naan, name, version, digest, generation, ${millisecondsOf('at')} AS at FROM ${this.#schema}.active ${which}`,
      names === undefined ? [] : [names.map(({ naan }) => naan), names.map(({ name }) => name)],
    );
    return rows.map(({ naan, name, version, ...rest }) => ({ id: { naan, name, version }, ...rest }));
  }

  /** When it was asked for last that all endpoints of an engine be activated again, by its name. */
  async refreshed(): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.#database.query<{ engine: string; at: number }>(
      `SELECT engine, ${millisecondsOf('at')} AS at FROM ${this.#schema}.engine_refresh`,
    );
    return new Map(rows.map(({ engine, at }) => [engine, at]));
  }

  /** What a change is going to make active, as far as the audit names it. */
  async #becomes(query: Query, change: Change, about: About): Promise<readonly Became[]> {
    const schema = this.#schema;
    const { condition, values } = conditionOf(about);
    const [from, digest] =
      change === 'refresh'
        ? [`${schema}.active a LEFT JOIN ${schema}.ko k USING (naan, name, version)`, 'a.digest']
        : [`${schema}.ko k LEFT JOIN ${schema}.active a USING (naan, name, version)`, 'k.digest'];
    const isOther = 'a.digest IS DISTINCT FROM k.digest AND NOT k.removed';
    const which =
      about.what === 'ko'
        ? change === 'refresh'
          ? 'true'
          : 'NOT k.removed'
        : change === 'refresh'
          ? 'false'
          : isOther;
    const { rows } = await query<KoId & { digest: string; at_id: string | null } & Record<string, unknown>>(
      `SELECT naan, name, version, ${digest} AS digest, k.at_id FROM ${from} WHERE ${which} AND ${condition}
        ORDER BY naan, name, version`,
      values,
    );
    return rows.map(({ naan, name, version, digest, at_id: atId }) => ({ id: { naan, name, version }, digest, atId }));
  }

  /** @returns how many KOs it is about. */
  async #takeShelf(query: Query, about: About, generation: number): Promise<number> {
    const schema = this.#schema;
    const { condition, values } = conditionOf(about);
    const gone = await this.#dropRemoved(query, about);
    const put = await query(
      `INSERT INTO ${schema}.active (naan, name, version, digest, generation, at)
        SELECT naan, name, version, digest, $${values.length + 1}::bigint, statement_timestamp() FROM ${schema}.ko
          WHERE NOT removed AND ${condition}
        ON CONFLICT (naan, name, version)
          DO UPDATE SET digest = excluded.digest, generation = excluded.generation, at = excluded.at`,
      [...values, generation],
    );
    return gone + put.count;
  }

  /** @returns how many. */
  async #dropRemoved(query: Query, about: About): Promise<number> {
    const schema = this.#schema;
    const { condition, values } = conditionOf(about);
    const gone = await query(
      `DELETE FROM ${schema}.active a WHERE ${condition} AND NOT EXISTS (SELECT 1 FROM ${schema}.ko k
        WHERE k.naan = a.naan AND k.name = a.name AND k.version = a.version AND NOT k.removed)`,
      values,
    );
    return gone.count;
  }

  /** Packages stay as they are; KOs that are new on the shelf come, and those that left it go, as with one activator. */
  async #mark(query: Query, about: About, generation: number): Promise<number> {
    const schema = this.#schema;
    const { condition, values } = conditionOf(about);
    // Of one engine some endpoints of a KO may be concerned, and not others.
    const whole: About = about.what === 'engine' ? { what: 'kos', kos: about.also ?? [] } : about;
    await this.#dropRemoved(query, whole);
    const ofShelf = conditionOf(whole);
    await query(
      `INSERT INTO ${schema}.active (naan, name, version, digest, generation, at)
        SELECT naan, name, version, digest, $${ofShelf.values.length + 1}::bigint, statement_timestamp() FROM ${schema}.ko
          WHERE NOT removed AND ${ofShelf.condition}
        ON CONFLICT (naan, name, version) DO NOTHING`,
      [...ofShelf.values, generation],
    );
    if (about.what === 'engine')
      await query(
        `INSERT INTO ${schema}.engine_refresh (engine, at) VALUES ($1, statement_timestamp())
          ON CONFLICT (engine) DO UPDATE SET at = excluded.at`,
        [about.engine],
      );
    const time = about.what === 'engine' ? '' : ', at = statement_timestamp()';
    const marked = await query(
      `UPDATE ${schema}.active SET generation = $${values.length + 1}${time} WHERE ${condition}`,
      [...values, generation],
    );
    return marked.count;
  }
}

/** A condition on the columns of an id, whose values are the first ones of the statement. */
function conditionOf(about: About): { readonly condition: string; readonly values: readonly unknown[] } {
  switch (about.what) {
    // Which KOs have endpoints of an engine, their packages tell.
    case 'all':
    case 'engine':
      return { condition: 'true', values: [] };
    case 'ko': {
      const { naan, name, version } = about;
      return version === undefined
        ? { condition: 'naan = $1 AND name = $2', values: [naan, name] }
        : { condition: 'naan = $1 AND name = $2 AND version = $3', values: [naan, name, version] };
    }
    case 'kos':
      return {
        condition: '(naan, name, version) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))',
        values: [
          about.kos.map(({ naan }) => naan),
          about.kos.map(({ name }) => name),
          about.kos.map(({ version }) => version),
        ],
      };
  }
}

/** Of KOs that a change is about; undefined where it may be about any. */
export function namesOf(about: About): readonly KoName[] | undefined {
  if (about.what === 'ko') return [{ naan: about.naan, name: about.name }];
  return about.what === 'kos' ? about.kos : undefined;
}
