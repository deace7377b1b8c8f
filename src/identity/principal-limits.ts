/**
 * How much a principal may ask for: requests a second, and calls at once. Where several activators share a database, each
 * leases its share once a second, by what was asked of it; without the database it keeps the last one.
 */
import { messageOf, tooManyRequests } from '../lib/errors.ts';
import { uptime } from '../lib/time.ts';
import type { Database, Row } from '../shelf/store/database.ts';
import type { Principal } from './principal.ts';

export interface PrincipalLimitsOptions {
  /** Requests a second; 0: any number. */
  readonly rate: number;
  /** Calls at once; 0: any number. */
  readonly calls: number;
  readonly database?: Pick<Database, 'query' | 'dialect' | 'isShared'> | undefined;
  /** Its id in the fleet. */
  readonly node?: (() => string) | undefined;
  /** Hears once for each reason that shares cannot be leased. */
  readonly onProblem?: (cause: string) => void;
}

interface Used {
  /** Requests that may come at once. */
  tokens: number;
  at: number;
  /** That run. */
  calls: number;
  /** Since the last lease: what was asked for, refused or not. */
  asked: number;
  mostCalls: number;
  /** Of the limits: from 0 to 1. */
  share: number;
}

interface UseRow extends Row {
  readonly principal: string;
  readonly node: string;
  readonly rate: number;
  readonly calls: number;
}

const LEASED_EVERY_MS = 1000;
/** A node that says nothing for so long asks for nothing. */
const COUNTS_FOR_MS = 3000;
const FORGOTTEN_MS = 60_000;
/** Principals that are told apart. */
const MOST = 10_000;

export class PrincipalLimits implements Disposable {
  readonly #options: PrincipalLimitsOptions;
  readonly #used = new Map<string, Used>();
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout | undefined;
  /** Of a principal that asks for the first time. */
  #firstShare = 1;
  #isLeasing = false;
  #problem = '';

  constructor(options: PrincipalLimitsOptions, now: () => number = uptime) {
    this.#options = options;
    this.#now = now;
    if (options.database?.isShared !== true) return;
    this.#timer = setInterval(() => void this.lease(), LEASED_EVERY_MS).unref();
  }

  /** Takes account of a request. @returns headers of its answer. @throws tooManyRequests. */
  take(principal: Principal, address: string | undefined): Readonly<Record<string, string>> {
    const { rate } = this.#options;
    if (rate === 0) return NO_HEADERS;
    const used = this.#of(principal, address);
    used.asked++;
    const most = Math.max(1, rate * used.share);
    const now = this.#now();
    used.tokens = Math.min(most, used.tokens + ((now - used.at) / 1000) * rate * used.share);
    used.at = now;
    const policy = `"principal";q=${Math.floor(most)};w=1`;
    if (used.tokens >= 1) {
      used.tokens--;
      return { 'ratelimit-policy': policy, ratelimit: `"principal";r=${Math.floor(used.tokens)};t=1` };
    }
    const wait = Math.ceil((1 - used.tokens) / (rate * used.share));
    throw tooManyRequests(`${principal.name} may send ${rate} requests a second (--max-rate); try again later`, {
      headers: { 'retry-after': String(wait), 'ratelimit-policy': policy, ratelimit: `"principal";r=0;t=${wait}` },
    });
  }

  /** Takes account of a call that begins. @returns what ends it. @throws tooManyRequests. */
  begin(principal: Principal, address: string | undefined): () => void {
    const { calls } = this.#options;
    if (calls === 0) return NOTHING;
    const used = this.#of(principal, address);
    const most = Math.max(1, Math.floor(calls * used.share));
    used.mostCalls = Math.max(used.mostCalls, used.calls + 1);
    if (used.calls >= most)
      throw tooManyRequests(`${principal.name} may have ${calls} calls at once (--max-calls); try again later`, {
        headers: { 'retry-after': '1', 'ratelimit-policy': `"calls";q=${most}`, ratelimit: '"calls";r=0' },
      });
    used.calls++;
    let isOver = false;
    return () => {
      if (!isOver) used.calls--;
      isOver = true;
    };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Says what was asked for here, and takes the share that this is of what was asked for everywhere. */
  async lease(): Promise<void> {
    const { database, node, onProblem } = this.#options;
    if (database === undefined || node === undefined || this.#isLeasing) return;
    this.#isLeasing = true;
    try {
      await this.#exchange(database, node());
      this.#problem = '';
    } catch (thrown) {
      const cause = messageOf(thrown);
      if (cause !== this.#problem) onProblem?.(cause);
      this.#problem = cause;
    } finally {
      this.#isLeasing = false;
    }
  }

  async #exchange(database: Pick<Database, 'query' | 'dialect'>, node: string): Promise<void> {
    const { schema, now } = database.dialect;
    const busy = [...this.#used].filter(([, { asked, calls, mostCalls }]) => asked + calls + mostCalls > 0);
    for (const [principal, used] of busy) {
      const { asked, mostCalls, calls } = used;
      used.asked = 0;
      used.mostCalls = calls;
      await database.query(
        `INSERT INTO ${schema}limit_use (principal, node, rate, calls, at) VALUES ($1, $2, $3, $4, ${now})
          ON CONFLICT (principal, node) DO UPDATE SET rate = excluded.rate, calls = excluded.calls, at = excluded.at`,
        [principal, node, asked, mostCalls],
      );
    }
    const { rows } = await database.query<UseRow>(
      `SELECT principal, node, rate, calls FROM ${schema}limit_use WHERE at > ${now} - ${String(COUNTS_FOR_MS)}`,
    );
    const { rows: nodes } = await database.query<{ live: number }>(
      `SELECT count(*) AS live FROM ${schema}node WHERE heartbeat > ${now} - ${String(5 * COUNTS_FOR_MS)}`,
    );
    this.#firstShare = 1 / Math.max(1, Number(nodes[0]?.live ?? 1));
    const byPrincipal = Map.groupBy(rows, ({ principal }) => principal);
    for (const [principal, used] of this.#used) {
      const all = byPrincipal.get(principal) ?? [];
      const weight = ({ rate, calls }: UseRow): number => 1 + Number(rate) + Number(calls);
      const whole = all.reduce((sum, row) => sum + weight(row), 0);
      const own = all.find((row) => row.node === node);
      used.share = own === undefined ? this.#firstShare : weight(own) / whole;
    }
    this.#forget();
    if (Math.random() < 0.01)
      await database.query(`DELETE FROM ${schema}limit_use WHERE at < ${now} - ${String(FORGOTTEN_MS)}`);
  }

  #of(principal: Principal, address = ''): Used {
    const { name, kind } = principal;
    const key = NAMELESS.has(kind) ? `${kind} ${address}` : `${kind} ${name}`;
    let used = this.#used.get(key);
    if (used === undefined) {
      if (this.#used.size >= MOST) this.#forget();
      const share = this.#firstShare;
      const tokens = Math.max(1, this.#options.rate * share);
      used = { tokens, at: this.#now(), calls: 0, asked: 0, mostCalls: 0, share };
      this.#used.set(key, used);
    }
    return used;
  }

  /** What nobody uses; where that is not enough, what began first. */
  #forget(): void {
    const before = this.#now() - FORGOTTEN_MS;
    for (const [key, { at, calls }] of this.#used) if (calls === 0 && at < before) this.#used.delete(key);
    for (const [key, { calls }] of this.#used) {
      if (this.#used.size < MOST) break;
      if (calls === 0) this.#used.delete(key);
    }
  }
}

/** Who has no name of their own is told apart by address. */
const NAMELESS: ReadonlySet<string> = new Set(['anonymous', 'call', 'dev']);
const NO_HEADERS = {};
const NOTHING = (): void => undefined;
