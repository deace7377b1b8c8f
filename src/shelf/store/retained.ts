/** The packages that were deleted or replaced and may come back. */
import { koKey, parseKoId, type KoId } from '../../knowledge-object/id.ts';
import type { KeepRemoved, RemovedPackage } from '../shelf.ts';
import { packageDamaged, packageNotKept, type ServiceError } from '../../lib/errors.ts';
import type { Dialect, Query, Row } from './database.ts';

interface RetainedRow extends Row {
  readonly id: string;
  readonly digest: string;
  readonly at: number;
  readonly why: string;
  readonly now: number;
}

/** What stays within the bounds, the latest first, and what goes. */
export interface Sorted {
  readonly stay: readonly RemovedPackage[];
  readonly go: readonly RemovedPackage[];
}

export interface RetainedOptions {
  readonly dialect: Dialect;
  /** Undefined: nothing comes to it, and nothing goes of it. */
  readonly bounds: KeepRemoved | undefined;
  /** For tests: milliseconds since 1970, in place of the clock of the database. */
  readonly now: (() => number) | undefined;
}

export class Retained {
  readonly #options: RetainedOptions;

  constructor(options: RetainedOptions) {
    this.#options = options;
  }

  get isKept(): boolean {
    const { bounds } = this.#options;
    return bounds !== undefined && bounds.count > 0 && bounds.age > 0;
  }

  /** Of one KO or of all. */
  async sorted(query: Query, id?: KoId): Promise<Sorted> {
    const { bounds, dialect } = this.#options;
    const { rows } = await query<RetainedRow>(
      `SELECT id, digest, at, why, coalesce($1, ${dialect.now}) AS now FROM ${dialect.schema}retained
        ${id === undefined ? '' : 'WHERE id = $2'} ORDER BY at DESC, id`,
      [this.#options.now?.() ?? null, ...(id === undefined ? [] : [koKey(id)])],
    );
    const counts = new Map<string, number>();
    const [stay, go]: [RemovedPackage[], RemovedPackage[]] = [[], []];
    for (const { id: key, digest, at, why, now } of rows) {
      const of = parseKoId(key);
      if (of === undefined) continue;
      const before = counts.get(key) ?? 0;
      const isWithin = bounds === undefined || (before < bounds.count && now - at < bounds.age);
      if (isWithin) counts.set(key, before + 1);
      const each = { id: of, digest, removed: new Date(at), why: why === 'deleted' ? why : 'replaced' } as const;
      (isWithin ? stay : go).push(each);
    }
    return { stay, go };
  }

  /**
   * The order is that in which they went, whatever the clock does.
   * @param change its clock is that of the audit record, which is looked up by this time.
   */
  async add(
    query: Query,
    id: KoId,
    { digest, listing }: { readonly digest: string; readonly listing: string },
    change: { readonly why: 'deleted' | 'replaced'; readonly now: number },
  ): Promise<void> {
    if (!this.isKept) return;
    const { schema } = this.#options.dialect;
    const { rows } = await query<{ next: number | null }>(
      `SELECT max(at) + 1 AS next FROM ${schema}retained WHERE id = $1`,
      [koKey(id)],
    );
    const at = Math.max(this.#options.now?.() ?? change.now, rows[0]?.next ?? 0);
    await query(
      `INSERT INTO ${schema}retained (id, digest, listing, at, why) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (id, digest) DO UPDATE SET at = excluded.at, why = excluded.why`,
      [koKey(id), digest, listing, at, change.why],
    );
  }

  /** Those of these digests are no longer retained. */
  async drop(query: Query, id: KoId, digests: readonly string[]): Promise<void> {
    const { dialect } = this.#options;
    await query(
      `DELETE FROM ${dialect.schema}retained WHERE id = $1 AND digest IN (SELECT value FROM ${dialect.texts('$2')})`,
      [koKey(id), JSON.stringify(digests)],
    );
  }

  /** The one of that digest, or the latest. @throws packageNotKept, saying what is retained. */
  async find(query: Query, id: KoId, digest: string | undefined): Promise<RemovedPackage> {
    const { stay } = await this.sorted(query, id);
    const chosen = digest === undefined ? stay[0] : stay.find((each) => each.digest === digest);
    if (chosen === undefined) throw notKept(id, stay, digest);
    return chosen;
  }
}

/** As many as fit into a sentence. */
const MOST_NAMED = 10;

/** The error that says what is kept, where it is not that. */
function notKept(id: KoId, kept: readonly RemovedPackage[], digest: string | undefined): ServiceError {
  const key = koKey(id);
  if (kept.length === 0)
    return packageNotKept(
      `Nothing is kept of ${key}: no package of it was deleted or replaced, or none so lately that it still is.`,
    );
  const named = kept
    .slice(0, MOST_NAMED)
    .map((each) => `sha256:${each.digest} (${each.why} ${each.removed.toISOString()})`);
  const more = kept.length > MOST_NAMED ? ` and ${String(kept.length - MOST_NAMED)} older ones` : '';
  return packageNotKept(
    `No package of ${key} is kept with the digest sha256:${digest ?? ''}; kept are: ${named.join(', ')}${more}.`,
  );
}

export const keptIsDamaged = ({ id, digest }: RemovedPackage, how: string): ServiceError =>
  packageDamaged(
    `The package of ${koKey(id)} with the digest sha256:${digest}, which is kept, is damaged: ${how}; nothing was changed.`,
  );
