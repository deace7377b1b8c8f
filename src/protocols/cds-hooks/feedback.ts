/** What became of cards, as clients tell: kept in the database of the shelf, so that all nodes count the same. */
import { bodyNotReadable, malformedRequest, overloaded } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import type { Database } from '../../shelf/store/database.ts';

/** One entry, without what users wrote: comments may tell of patients. */
export interface Feedback {
  readonly card: string;
  readonly outcome: 'accepted' | 'overridden';
  /** Codes of override reasons, or ids of accepted suggestions. */
  readonly detail: readonly string[];
  /** As the client wrote it. */
  readonly at: string;
}

export interface FeedbackCounts {
  readonly accepted: number;
  readonly overridden: number;
  /** Of override reasons. */
  readonly reasons: Readonly<Record<string, number>>;
  /** The latest entries, the newest first. */
  readonly latest: readonly Feedback[];
}

const MOST_ENTRIES = 100;
const MOST_WAITING = 100;
/** Rows of all services: older ones go. */
const MOST_ROWS = 100_000;
const MOST_LATEST = 20;
/** The most frequent ones. */
const MOST_REASONS = 50;
/** How often the rows are counted, in requests. */
const SWEEP_EVERY = 100;
const ID = /^[\x21-\x7e]{1,100}$/;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]{5,20}(Z|[+-]\d\d:?\d\d)?$/;

/** @throws bodyNotReadable; malformedRequest. */
export function parseFeedback(text: string): readonly Feedback[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw bodyNotReadable('The request body is not JSON', { cause });
  }
  const entries = isObject(body) ? body['feedback'] : undefined;
  if (!Array.isArray(entries) || entries.length === 0 || entries.length > MOST_ENTRIES)
    throw malformedRequest(`feedback must be a list of 1 to ${MOST_ENTRIES} entries`);
  return entries.map((entry, i) => parseEntry(entry, `feedback[${i}]`));
}

function parseEntry(entry: unknown, at: string): Feedback {
  if (!isObject(entry)) throw malformedRequest(`${at} must be an object`);
  const { card, outcome, acceptedSuggestions, overrideReason, outcomeTimestamp } = entry;
  if (typeof card !== 'string' || !ID.test(card)) throw malformedRequest(`${at}.card must be the uuid of a card`);
  if (outcome !== 'accepted' && outcome !== 'overridden')
    throw malformedRequest(`${at}.outcome must be accepted or overridden`);
  if (typeof outcomeTimestamp !== 'string' || !TIME.test(outcomeTimestamp))
    throw malformedRequest(`${at}.outcomeTimestamp must be a date and time such as 2026-11-25T10:00:00Z`);
  return {
    card,
    outcome,
    detail: outcome === 'accepted' ? suggestionsIn(acceptedSuggestions, at) : reasonIn(overrideReason, at),
    at: outcomeTimestamp,
  };
}

function suggestionsIn(value: unknown, at: string): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_ENTRIES)
    throw malformedRequest(`${at}.acceptedSuggestions must be a list of the suggestions that were accepted`);
  return value.map((each: unknown, i) => {
    const id = isObject(each) ? each['id'] : undefined;
    if (typeof id !== 'string' || !ID.test(id))
      throw malformedRequest(`${at}.acceptedSuggestions[${i}].id must be the uuid of a suggestion`);
    return id;
  });
}

function reasonIn(value: unknown, at: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!isObject(value)) throw malformedRequest(`${at}.overrideReason must be an object`);
  const { reason } = value;
  if (reason === undefined || reason === null) return [];
  const code = isObject(reason) ? reason['code'] : undefined;
  if (typeof code !== 'string' || code.length === 0 || code.length > 100)
    throw malformedRequest(`${at}.overrideReason.reason.code must be a code`);
  return [code];
}

export class FeedbackStore {
  readonly #database: Database;
  readonly #queue = new FairQueue({ limit: 1 });
  #waiting = 0;
  #requests = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** What is told again of a card takes the place of what was told before. @throws overloaded; what the database throws. */
  async keep(service: string, entries: readonly Feedback[]): Promise<void> {
    if (this.#waiting >= MOST_WAITING) throw overloaded('Too much feedback waits to be kept; try again later');
    this.#waiting++;
    try {
      await this.#queue.run('', () => this.#write(service, entries));
    } finally {
      this.#waiting--;
    }
  }

  async counts(service: string): Promise<FeedbackCounts> {
    const { query, dialect } = this.#database;
    const table = `${dialect.schema}hook_feedback`;
    const counted = await query<{ outcome: string; many: number }>(
      `SELECT outcome, COUNT(*) AS many FROM ${table} WHERE service = $1 GROUP BY outcome`,
      [service],
    );
    const of = (outcome: string): number => Number(counted.rows.find((row) => row.outcome === outcome)?.many ?? 0);
    const why = await query<{ detail: string; many: number }>(
      `SELECT detail, COUNT(*) AS many FROM ${table} WHERE service = $1 AND outcome = 'overridden' AND detail <> '[]'
        GROUP BY detail ORDER BY many DESC LIMIT ${MOST_REASONS}`,
      [service],
    );
    const reasons = why.rows.map(({ detail, many }) => [String(JSON.parse(detail)), Number(many)] as const);
    const latest = await query<{ card: string; outcome: Feedback['outcome']; detail: string; told: string }>(
      `SELECT card, outcome, detail, told FROM ${table} WHERE service = $1 ORDER BY at DESC LIMIT ${MOST_LATEST}`,
      [service],
    );
    return {
      accepted: of('accepted'),
      overridden: of('overridden'),
      reasons: Object.fromEntries(reasons),
      latest: latest.rows.map(({ card, outcome, detail, told }) => ({
        card,
        outcome,
        detail: JSON.parse(detail) as string[],
        at: told,
      })),
    };
  }

  async #write(service: string, entries: readonly Feedback[]): Promise<void> {
    const { dialect } = this.#database;
    const table = `${dialect.schema}hook_feedback`;
    await this.#database.transaction(async ({ query }) => {
      for (const { card, outcome, detail, at } of entries)
        await query(
          `INSERT INTO ${table} (service, card, outcome, detail, told, at) VALUES ($1, $2, $3, $4, $5, ${dialect.now})
            ON CONFLICT (service, card) DO UPDATE SET outcome = excluded.outcome, detail = excluded.detail, told = excluded.told, at = excluded.at`,
          [service, card, outcome, JSON.stringify(detail), at],
        );
      if (this.#requests++ % SWEEP_EVERY === 0)
        await query(
          `DELETE FROM ${table} WHERE at < (SELECT MIN(at) FROM (SELECT at FROM ${table} ORDER BY at DESC LIMIT ${MOST_ROWS}) AS newest)`,
        );
    });
  }
}
