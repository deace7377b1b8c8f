/** What was deleted or replaced and is kept, in the database. */
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { notKept } from '../not-kept.ts';
import type { KeepRemoved, RemovedPackage } from '../shelf.ts';
import type { Row } from './connection.ts';
import type { Query } from './database.ts';

export interface KeptOptions {
  readonly schema: string;
  /** Undefined: nothing comes to it, and nothing goes of it. */
  readonly bounds: KeepRemoved | undefined;
  /** For tests: epoch milliseconds, in place of the clock of the database. */
  readonly now: (() => number) | undefined;
}

interface KeptRow extends Row {
  readonly naan: string;
  readonly name: string;
  readonly version: string;
  readonly digest: string;
  readonly removed: number;
  readonly why: 'deleted' | 'replaced';
}

/** Of KOs: what stays within the bounds, and what goes. */
interface Sorted {
  readonly stay: readonly RemovedPackage[];
  readonly go: readonly RemovedPackage[];
}

export class KeptRows {
  readonly #options: KeptOptions;

  constructor(options: KeptOptions) {
    this.#options = options;
  }

  get keepsAny(): boolean {
    const { bounds } = this.#options;
    return bounds !== undefined && bounds.count > 0 && bounds.age > 0;
  }

  /** Of one KO or of all, the latest first. */
  async sorted(query: Query, id?: KoId): Promise<Sorted> {
    const { schema, bounds } = this.#options;
    const which = id === undefined ? '' : 'WHERE naan = $2 AND name = $3 AND version = $4';
    const { rows } = await query<KeptRow & { now: number }>(
      `SELECT naan, name, version, digest, why, (extract(epoch FROM removed) * 1000)::float8 AS removed,
         coalesce($1::float8, extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
       FROM ${schema}.kept ${which} ORDER BY kept.removed DESC, naan, name, version`,
      [this.#options.now?.() ?? null, ...(id === undefined ? [] : [id.naan, id.name, id.version])],
    );
    const counts = new Map<string, number>();
    const [stay, go]: [RemovedPackage[], RemovedPackage[]] = [[], []];
    for (const { naan, name, version, digest, why, removed, now } of rows) {
      const each = { id: { naan, name, version }, digest, removed: new Date(Math.round(removed)), why };
      const key = koKey(each.id);
      const before = counts.get(key) ?? 0;
      const isWithin = bounds === undefined || (before < bounds.count && now - removed < bounds.age);
      if (isWithin) counts.set(key, before + 1);
      (isWithin ? stay : go).push(each);
    }
    return { stay, go };
  }

  /** The order is that in which they went, whatever the clock does. */
  async add(query: Query, id: KoId, digest: string, why: 'deleted' | 'replaced'): Promise<void> {
    if (!this.keepsAny) return;
    const { schema, now } = this.#options;
    await query(
      `INSERT INTO ${schema}.kept (naan, name, version, digest, why, removed)
       SELECT $1, $2, $3, $4, $5, greatest(date_trunc('milliseconds', coalesce(to_timestamp($6::float8 / 1000), clock_timestamp())),
         (SELECT max(removed) + interval '1 millisecond' FROM ${schema}.kept WHERE naan = $1 AND name = $2 AND version = $3))
       ON CONFLICT (naan, name, version, digest) DO UPDATE SET removed = excluded.removed, why = excluded.why`,
      [id.naan, id.name, id.version, digest, why, now?.() ?? null],
    );
  }

  /** What is there again is not kept. */
  async drop(query: Query, id: KoId, digests: readonly string[]): Promise<void> {
    await query(
      `DELETE FROM ${this.#options.schema}.kept WHERE naan = $1 AND name = $2 AND version = $3 AND digest = ANY($4)`,
      [id.naan, id.name, id.version, digests],
    );
  }

  /** The one of that digest, or the latest. @throws packageNotKept, saying what is kept. */
  async find(query: Query, id: KoId, digest: string | undefined): Promise<RemovedPackage> {
    const { stay } = await this.sorted(query, id);
    const chosen = digest === undefined ? stay[0] : stay.find((each) => each.digest === digest);
    if (chosen === undefined) throw notKept(id, stay, digest);
    return chosen;
  }
}
